package token

import (
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Rejection is the error for a request that lacks a valid bearer token. Of the token it
// repeats only the expiry, once the signature is verified.
type Rejection struct {
	// Reason is one word, for logs and metrics.
	Reason string
	// Detail explains the rejection to an honest caller.
	Detail string
	// err is the library error with this reason.
	err error
}

// rejections are all rejections. The first one that applies counts.
var rejections = []Rejection{
	{"missing", "send a bearer token in the Authorization header", nil},
	{"misplaced", "send one token in one Authorization header, and none in the query", nil},
	{"opaque", "the token is opaque: the service accepts signed JWTs only", nil},
	{"malformed", "the token is not a signed JWT of at most 8 KiB in compact form, or its JSON is ambiguous", jwt.ErrTokenMalformed},
	{"algorithm", "the token must be signed with RS256, PS256, ES256, EdDSA or Ed25519", jwt.ErrTokenUnverifiable},
	{"type", "the token's header has a typ that is not accepted, or a critical extension", nil},
	{"unknown_key", "the issuer publishes no usable key with the token's kid and alg", nil},
	{"signature", "the token's signature is invalid", jwt.ErrTokenSignatureInvalid},
	{"issuer", "the token is from another issuer", jwt.ErrTokenInvalidIssuer},
	{"audience", "the token is for another audience; the service requires ", jwt.ErrTokenInvalidAudience},
	{"audience", "the token has an audience; the service requires one without, of a known client", errAudience},
	{"client", "the token was issued to another client, or client_id and azp differ", nil},
	{"expired", "the token expired at ", jwt.ErrTokenExpired},
	{"not_yet", "the token is not valid yet", jwt.ErrTokenNotValidYet},
	{"not_yet", "the token was issued in the future", jwt.ErrTokenUsedBeforeIssued},
	{"lifetime", "the token is valid for longer than this service accepts", nil},
	{"purpose", "the token is not a plain access token: it has nonce, at_hash, events or cnf", nil},
	{"claims", "the token lacks iss, aud, sub or exp, or has an unusable value", nil},
}

func reject(reason string) *Rejection {
	for _, r := range rejections {
		if r.Reason == reason {
			return &r
		}
	}
	panic("no such reason: " + reason)
}

// errAudience is the error for a token with an audience where clients replace it.
var errAudience = errors.New("any audience")

// rejectionOf returns the rejection for an error of the library, which checks claims only
// after the signature.
func (v *Verifier) rejectionOf(err error, claims jwt.MapClaims) *Rejection {
	if r, ours := errors.AsType[*Rejection](err); ours {
		return r
	}
	for _, r := range rejections {
		if r.err == nil || !errors.Is(err, r.err) {
			continue
		}
		if expires, err := claims.GetExpirationTime(); r.Reason == "expired" && err == nil {
			r.Detail += expires.UTC().Format(time.RFC3339)
		}
		if errors.Is(r.err, jwt.ErrTokenInvalidAudience) {
			r.Detail += v.cfg.Audience
		}
		return &r
	}
	return reject("claims")
}

// Error returns the detail.
func (r *Rejection) Error() string { return r.Detail }

// Challenge returns the value of WWW-Authenticate (RFC 6750, section 3), which may not
// contain every character of a setting. A request that has no token gets no error code.
func (r *Rejection) Challenge() string {
	if r.Reason == "missing" {
		return "Bearer"
	}
	return `Bearer error="invalid_token", error_description="` + strings.Map(describable, r.Detail) + `"`
}

// describable returns a character of an error_description, or a question mark.
func describable(c rune) rune {
	if c < ' ' || c > '~' || c == '"' || c == '\\' {
		return '?'
	}
	return c
}
