package httpapi

import (
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
	"github.com/maypok86/otter/v2"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

const (
	// maxToken bounds a token before anything of it is read.
	maxToken = 8 << 10
	// maxVerified bounds how many tokens are remembered.
	maxVerified = 10_000
	// leeway is how far the issuer's clock may be off.
	leeway = 30 * time.Second
	// maxTime is the largest exp, nbf and iat that a double holds exactly.
	maxTime = 1 << 53
)

// TokenConfig says whose tokens are good. All of it is required.
type TokenConfig struct {
	Issuer   string
	Audience string
	// JWKSURL is where the issuer publishes its keys.
	JWKSURL string
	// RolesClaim is the path to the roles in the claims: "roles", "realm_access.roles"
	// or "scope".
	RolesClaim string
	// Now is the clock.
	Now func() time.Time
	// OnRefreshError hears that the keys could not be fetched; the old ones stay.
	OnRefreshError func(err error)
}

// Verifier turns tokens into actors (AUTH-1, AUTH-4).
type Verifier struct {
	cfg      TokenConfig
	keys     keySet
	parser   *jwt.Parser
	verified *otter.Cache[[sha256.Size]byte, verified]
}

// identity is who sent a request.
type identity struct {
	actor core.Actor
	scope idempotency.Scope
}

// NewVerifier fetches the issuer's keys and keeps them fresh until ctx ends. An issuer
// that cannot be reached yet is no error: until its keys are there, every token is
// answered with 503. Anything empty in cfg is an error, for the libraries take an empty
// issuer, audience or method list as a check that is switched off.
func NewVerifier(ctx context.Context, cfg TokenConfig) (*Verifier, error) {
	if cfg.Issuer == "" || cfg.Audience == "" || cfg.JWKSURL == "" || cfg.RolesClaim == "" || cfg.Now == nil {
		return nil, errors.New("issuer, audience, JWKS URL, roles claim and clock are all required")
	}
	keys, err := fetchKeys(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("set up the issuer's keys: %w", err)
	}
	cache, err := otter.New(&otter.Options[[sha256.Size]byte, verified]{MaximumSize: maxVerified})
	if err != nil {
		return nil, fmt.Errorf("set up the memory for tokens: %w", err)
	}
	return &Verifier{cfg: cfg, keys: keys, verified: cache, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256", "PS256", "ES256", "EdDSA"}),
		jwt.WithIssuer(cfg.Issuer), jwt.WithAudience(cfg.Audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(cfg.Now), jwt.WithStrictDecoding(),
	)}, nil
}

// Close ends what runs in the background.
func (v *Verifier) Close() { v.verified.StopAllGoroutines() }

// authenticate gives the identity behind a request, or 401 without a word on why, or
// 503 while there are no keys to tell.
func (v *Verifier) authenticate(r *http.Request) (identity, error) {
	token, err := bearer(r)
	if err != nil {
		return identity{}, err
	}
	name := sha256.Sum256([]byte(token))
	if known, ok := v.verified.GetIfPresent(name); ok && v.stillGood(r.Context(), known) {
		return known.identity, nil
	}
	fresh, err := v.verify(r.Context(), token)
	if err != nil && !v.hasKeys(r.Context()) {
		return identity{}, fmt.Errorf("%w: the issuer's signing keys are not loaded", core.ErrUnavailable)
	}
	if err != nil {
		return identity{}, errUnauthenticated()
	}
	v.verified.Set(name, fresh)
	return fresh.identity, nil
}

// verified is a token that was found good, remembered by the hash of all of it: no
// other token can stand for it.
type verified struct {
	identity identity
	expires  time.Time
	kid      string
	key      publicKey
}

// publicKey is what every public key of the standard library can do.
type publicKey interface {
	Equal(other crypto.PublicKey) bool
}

// stillGood looks at what can change after a token was verified: it expires, and its
// key may have been taken out of the issuer's set, or replaced.
func (v *Verifier) stillGood(ctx context.Context, known verified) bool {
	return v.cfg.Now().Before(known.expires.Add(leeway)) && v.keys.holds(ctx, known.kid, known.key)
}

// verify checks a token from its form to its claims.
func (v *Verifier) verify(ctx context.Context, token string) (verified, error) {
	if !strictToken(token) {
		return verified{}, errors.New("the token can be read in two ways")
	}
	claims := jwt.MapClaims{}
	var used any
	find := v.key(ctx)
	parsed, err := v.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (_ any, err error) {
		used, err = find(t)
		return used, err
	})
	if err != nil {
		return verified{}, err
	}
	key, known := used.(publicKey)
	expires, err := claims.GetExpirationTime()
	if err != nil || !known {
		return verified{}, errors.New("the key cannot verify")
	}
	id, err := v.identify(claims)
	kid, _ := parsed.Header["kid"].(string)
	return verified{identity: id, expires: expires.Time, kid: kid, key: key}, err
}

// bearer takes the token from the Authorization header (RFC 6750, section 2.1). One in
// the query is refused, for URLs end up in logs.
func bearer(r *http.Request) (string, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 || r.URL.Query().Has("access_token") {
		return "", errUnauthenticated()
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return "", errUnauthenticated()
	}
	return token, nil
}

func errUnauthenticated() error {
	return newProblem(wire.ProblemCodeUnauthenticated, "a valid bearer token is required")
}

// strictToken tells whether header and claims are JSON that everybody reads alike: no
// member twice, no invalid UTF-8. The library would take the last of two.
func strictToken(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	for _, part := range parts[:2] {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(part)
		if err != nil || !jsontext.Value(raw).IsValid() {
			return false
		}
	}
	return true
}

// key finds the key that a token names. Without a name the library would try every
// key, and an extension it does not know (crit) it would pass over (RFC 7515, section
// 4.1.11).
func (v *Verifier) key(ctx context.Context) jwt.Keyfunc {
	find := v.keys.KeyfuncCtx(ctx)
	return func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		if _, critical := t.Header["crit"]; kid == "" || critical {
			return nil, errors.New("a token names its key and no critical extensions")
		}
		return find(t)
	}
}

// identify reads subject and roles from verified claims.
func (v *Verifier) identify(claims jwt.MapClaims) (identity, error) {
	subject, err := claims.GetSubject()
	if err != nil || !goodSubject(subject) || !goodTimes(claims) {
		return identity{}, errors.New("the claims cannot be used")
	}
	actor := core.Actor{Subject: subject, Roles: rolesAt(claims, v.cfg.RolesClaim)}
	return identity{actor: actor, scope: idempotency.NewScope(v.cfg.Issuer, subject)}, nil
}

// goodSubject refuses what the contract does not know as the id of a customer or a
// seller.
func goodSubject(s string) bool {
	return subjectPattern.MatchString(s)
}

// goodTimes refuses times that the library would turn into other times.
func goodTimes(claims jwt.MapClaims) bool {
	for _, name := range []string{"exp", "nbf", "iat"} {
		if t, ok := claims[name].(float64); ok && (t < 0 || t > maxTime) {
			return false
		}
	}
	return true
}

// rolesAt is the one converter of claims to roles (AUTH-7): a list or a space-separated
// string at a path such as "realm_access.roles". Names that are no role grant nothing.
func rolesAt(claims jwt.MapClaims, path string) []core.Role {
	var at any = map[string]any(claims)
	for name := range strings.SplitSeq(path, ".") {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	var roles []core.Role
	for _, name := range namesIn(at) {
		if role, ok := core.ParseRole(name); ok {
			roles = append(roles, role)
		}
	}
	return roles
}

func namesIn(claim any) []string {
	switch claim := claim.(type) {
	case string:
		return strings.Fields(claim)
	case []any:
		var names []string
		for _, v := range claim {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}
