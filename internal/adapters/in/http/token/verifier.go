// Package token authenticates requests: it verifies bearer tokens (JWT) with the
// issuer's published keys (JWKS), and converts their claims to actors.
package token

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"github.com/maypok86/otter/v2"

	"example.com/orders/internal/core"
	"example.com/orders/internal/strictjson"
	"example.com/orders/kit/guard"
)

const (
	// maxToken is the largest token size; a larger token is not parsed.
	maxToken = 8 << 10
	// maxVerified is how many verified tokens are remembered.
	maxVerified = 10_000
	// leeway is how far the issuer clock may be off.
	leeway = 30 * time.Second
	// maxTime is the largest exp, nbf and iat that a float64 holds exactly.
	maxTime = 1 << 53
)

// acceptedMethods are the algorithms, as the library names them. Ed25519 is a second
// name for EdDSA with that curve (RFC 9864).
var acceptedMethods = []string{"RS256", "PS256", "ES256", "EdDSA"}

func init() {
	jwt.RegisterSigningMethod("Ed25519", func() jwt.SigningMethod { return jwt.SigningMethodEdDSA })
}

// Config describes the accepted tokens. All members are required, but only one of
// Audience and Clients.
type Config struct {
	Issuer   string
	Audience string
	// Clients are the accepted values of client_id and azp, in tokens without aud.
	Clients []string
	// JWKSURL is where the issuer publishes keys.
	JWKSURL string
	// RolesClaim is the name of the claim with the roles, or the path to it.
	RolesClaim string
	// Roles are the roles that the issuer names grant.
	Roles map[string]core.Role
	// Types are the accepted values of typ, without "application/".
	Types []string
	// MaxLifetime is how long after it was issued a token may expire.
	MaxLifetime time.Duration
	// MaxKeyAge is how long the keys are trusted if the issuer publishes no new ones.
	MaxKeyAge time.Duration
	// Now is the clock.
	Now func() time.Time
	// OnRefreshError is called when the keys cannot be fetched. The old ones stay in use
	// until they are too old.
	OnRefreshError func(err error)
	// OnUnusedKey is called when the issuer publishes a key that verifies no token, once
	// until the key set changes.
	OnUnusedKey func(UnusedKey)
}

// Verifier turns tokens into actors (AUTH-1, AUTH-4).
type Verifier struct {
	cfg      Config
	keys     *keySet
	parser   *jwt.Parser
	verified *otter.Cache[[sha256.Size]byte, verified]
}

// Identity is a request's sender.
type Identity struct {
	Actor core.Actor
	// Scope is the principal, issuer and subject: the owner of the idempotency keys.
	Scope guard.Scope
	// HasRoles reports that the token has the claim for roles, even an empty one.
	HasRoles bool
	// NoRole is why a claim for roles grants no role.
	NoRole string
}

// NewVerifier fetches the issuer keys and keeps them fresh until ctx ends. It succeeds
// even if the issuer cannot be reached yet; until the keys are loaded, every token is
// answered with 503.
//
// An empty value in cfg is an error, because the libraries would take an empty issuer or
// audience as "do not check".
func NewVerifier(ctx context.Context, cfg Config) (*Verifier, error) {
	if !cfg.isComplete() {
		return nil, errors.New("every member of Config is required")
	}
	cache, err := otter.New(&otter.Options[[sha256.Size]byte, verified]{MaximumSize: maxVerified})
	if err != nil {
		return nil, fmt.Errorf("set up the token cache: %w", err)
	}
	options := []jwt.ParserOption{
		jwt.WithIssuer(cfg.Issuer),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(cfg.Now), jwt.WithStrictDecoding(),
	}
	if cfg.Audience != "" {
		options = append(options, jwt.WithAudience(cfg.Audience))
	}
	return &Verifier{
		cfg: cfg, keys: fetchKeys(ctx, cfg), verified: cache, parser: jwt.NewParser(options...),
	}, nil
}

func (c Config) isComplete() bool {
	return c.Issuer != "" && (c.Audience == "") == (len(c.Clients) > 0) && c.JWKSURL != "" && c.RolesClaim != "" &&
		len(c.Roles) > 0 && len(c.Types) > 0 && c.MaxLifetime > 0 && c.MaxKeyAge > 0 &&
		c.Now != nil && c.OnRefreshError != nil && c.OnUnusedKey != nil
}

// Close stops the background work.
func (v *Verifier) Close() { v.verified.StopAllGoroutines() }

// Ready returns why no token can be verified, or nil. While there are no keys that can be
// trusted, it asks the issuer for them.
func (v *Verifier) Ready(ctx context.Context) error {
	if v.keys.distrust() == nil {
		return nil
	}
	v.keys.refetch(ctx)
	return v.keys.distrust()
}

// Keys returns the issuer's key count and the time since the keys were fetched,
// negative if they never were.
func (v *Verifier) Keys() (keys int, age time.Duration) {
	fetched := v.keys.fetched.Load()
	if fetched == nil {
		return 0, -1
	}
	return fetched.count, v.cfg.Now().Sub(fetched.asked)
}

// Authenticate returns a request's identity. The error is a [Rejection] for a missing
// or bad token, and [core.ErrUnavailable] while there are no keys to verify it with.
func (v *Verifier) Authenticate(r *http.Request) (Identity, error) {
	token, rejection := bearer(r)
	if rejection != nil {
		return Identity{}, rejection
	}
	hash := sha256.Sum256([]byte(token))
	if known, ok := v.verified.GetIfPresent(hash); ok && v.stillValid(known) {
		return known.identity, nil
	}
	fresh, rejection := v.verify(r.Context(), token)
	if reason := v.keys.distrust(); rejection != nil && reason != nil {
		return Identity{}, fmt.Errorf("%w: %w", core.ErrUnavailable, reason)
	}
	if rejection != nil {
		return Identity{}, rejection
	}
	v.verified.Set(hash, fresh)
	return fresh.identity, nil
}

// verified is a verified token. It is remembered by the hash of the whole token, so
// that no other token can be mistaken for it.
type verified struct {
	identity Identity
	expires  time.Time
	// fetched are the keys that it was verified with.
	fetched *fetchedKeys
}

// stillValid checks the facts that can change after verification: the token expires,
// and the next keys may lack the signing key. Keys are fetched so seldom that each
// token can be verified again then.
func (v *Verifier) stillValid(known verified) bool {
	return known.fetched == v.keys.fetched.Load() && v.keys.distrust() == nil &&
		v.cfg.Now().Before(known.expires.Add(leeway))
}

// verify checks a token's form, signature and claims.
func (v *Verifier) verify(ctx context.Context, token string) (verified, *Rejection) {
	switch {
	case len(token) <= maxToken && isOpaque(token):
		return verified{}, reject("opaque")
	case len(token) > maxToken || !isStrictToken(token):
		return verified{}, reject("malformed")
	}
	claims, fetched := jwt.MapClaims{}, v.keys.fetched.Load()
	_, err := v.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) { return v.findKeys(ctx, t) })
	if err != nil {
		return verified{}, v.rejectionOf(err, claims)
	}
	expires, _ := claims.GetExpirationTime() // the library has required it
	id, rejection := v.identify(claims)
	return verified{id, expires.Time, fetched}, rejection
}

// bearer returns the token in the Authorization header (RFC 6750, section 2.1). It
// rejects a token in the query, because URLs are logged.
func bearer(r *http.Request) (string, *Rejection) {
	headers := r.Header.Values("Authorization")
	inQuery := r.URL.RawQuery != "" && r.URL.Query().Has("access_token")
	if len(headers) > 1 || inQuery {
		return "", reject("misplaced")
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", reject("missing")
	}
	return token, nil
}

// isOpaque reports whether a token is no JWT, signed or encrypted.
func isOpaque(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 && len(parts) != 5 {
		return true
	}
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	return err != nil || json.Unmarshal(header, &map[string]any{}) != nil
}

// isStrictToken reports whether header and claims are JSON that every parser reads in
// the same way. The library would accept duplicate members and take the last one.
func isStrictToken(token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	for _, part := range parts[:2] {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(part)
		if err != nil || !strictjson.IsValid(raw) {
			return false
		}
	}
	return true
}

// findKeys finds the keys for a token by kid and algorithm; each is tried. The library
// would ignore an unknown critical extension (crit; RFC 7515, section 4.1.11).
func (v *Verifier) findKeys(ctx context.Context, t *jwt.Token) (any, error) {
	kid, _ := t.Header["kid"].(string)
	_, critical := t.Header["crit"]
	alg := t.Method.Alg()
	switch {
	case !slices.Contains(acceptedMethods, alg):
		return nil, reject("algorithm")
	case critical || !v.acceptsType(t.Header):
		return nil, reject("type")
	case kid == "":
		return nil, reject("unknown_key")
	}
	keys := v.keys.find(ctx, keyName{kid, jwkset.ALG(alg)})
	if keys == nil {
		return nil, reject("unknown_key")
	}
	return keys.VerificationKeySet(ctx)
}

// identify returns subject and roles from verified claims.
func (v *Verifier) identify(claims jwt.MapClaims) (Identity, *Rejection) {
	subject, err := claims.GetSubject()
	_, hasAudience := claims["aud"]
	switch {
	case isForOtherPurpose(claims):
		return Identity{}, reject("purpose")
	case hasAudience && v.cfg.Audience == "": // it is for a different audience (RFC 7519, section 4.1.3)
		return Identity{}, v.rejectionOf(errAudience, claims)
	case !v.acceptsClient(claims):
		return Identity{}, reject("client")
	case err != nil || !IsSubject(subject) || !hasExactTimes(claims):
		return Identity{}, reject("claims")
	case !v.boundsLifetime(claims):
		return Identity{}, reject("lifetime")
	}
	id := Identity{Actor: core.Actor{Subject: subject}, Scope: guard.NewScope(v.cfg.Issuer, subject)}
	var values int
	id.Actor.Roles, values, id.HasRoles = v.rolesIn(claims)
	if len(id.Actor.Roles) == 0 {
		id.NoRole = fmt.Sprintf("none of the %d values in the token's claim %s grants a role",
			values, v.cfg.RolesClaim)
	}
	return id, nil
}

var subjectPattern = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)

// IsSubject reports whether text can be a token's subject, and so a customer id.
func IsSubject(text string) bool { return subjectPattern.MatchString(text) }

// hasExactTimes reports whether the library keeps the claims' times exactly.
func hasExactTimes(claims jwt.MapClaims) bool {
	for _, name := range []string{"exp", "nbf", "iat"} {
		t, ok := claims[name].(float64)
		outOfRange := t < 0 || t > maxTime
		if ok && outOfRange {
			return false
		}
	}
	return true
}
