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

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/maypok86/otter/v2"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

const (
	// maxToken is the size of the largest token; a larger one is not parsed.
	maxToken = 8 << 10
	// maxVerified is how many verified tokens are remembered.
	maxVerified = 10_000
	// leeway is how far the issuer's clock may be off.
	leeway = 30 * time.Second
	// maxTime is the largest exp, nbf and iat that a float64 holds exactly.
	maxTime = 1 << 53
)

// TokenConfig says which tokens are accepted. All of it is required.
type TokenConfig struct {
	Issuer   string
	Audience string
	// JWKSURL is where the issuer publishes its keys.
	JWKSURL string
	// RolesClaim is the path to the roles in the claims: "roles", "realm_access.roles"
	// or "scope".
	RolesClaim string
	// Types are the accepted values of typ, without "application/".
	Types []string
	// MaxLifetime is how long after it was issued a token may expire.
	MaxLifetime time.Duration
	// MaxKeyAge is how long the keys are trusted if the issuer publishes none.
	MaxKeyAge time.Duration
	// Now is the clock.
	Now func() time.Time
	// OnRefreshError is called when the keys cannot be fetched. The old ones stay in use
	// until they are too old.
	OnRefreshError func(err error)
}

// Verifier turns tokens into actors (AUTH-1, AUTH-4).
type Verifier struct {
	cfg      TokenConfig
	keys     *keySet
	keyfunc  keyfunc.Keyfunc
	parser   *jwt.Parser
	verified *otter.Cache[[sha256.Size]byte, verified]
}

// identity is the sender of a request.
type identity struct {
	actor core.Actor
	scope idempotency.Scope
}

// NewVerifier fetches the issuer's keys and keeps them fresh until ctx ends. It
// succeeds even if the issuer cannot be reached yet; until the keys are loaded, every
// token is answered with 503.
//
// An empty value in cfg is an error, because the libraries would take an empty issuer,
// audience or list of methods as "do not check".
func NewVerifier(ctx context.Context, cfg TokenConfig) (*Verifier, error) {
	if !cfg.isComplete() {
		return nil, errors.New("every member of TokenConfig is required")
	}
	keys := fetchKeys(ctx, cfg)
	find, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: keys})
	if err != nil {
		return nil, fmt.Errorf("set up the issuer's keys: %w", err)
	}
	cache, err := otter.New(&otter.Options[[sha256.Size]byte, verified]{MaximumSize: maxVerified})
	if err != nil {
		return nil, fmt.Errorf("set up the token cache: %w", err)
	}
	return &Verifier{cfg: cfg, keys: keys, keyfunc: find, verified: cache, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{"RS256", "PS256", "ES256", "EdDSA"}),
		jwt.WithIssuer(cfg.Issuer), jwt.WithAudience(cfg.Audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway), jwt.WithTimeFunc(cfg.Now), jwt.WithStrictDecoding(),
	)}, nil
}

func (c TokenConfig) isComplete() bool {
	return c.Issuer != "" && c.Audience != "" && c.JWKSURL != "" && c.RolesClaim != "" &&
		len(c.Types) > 0 && c.MaxLifetime > 0 && c.MaxKeyAge > 0 && c.Now != nil && c.OnRefreshError != nil
}

// Close stops the background work of the verifier.
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

// Keys returns the number of the issuer's keys, and the time since they were fetched,
// negative if they never were.
func (v *Verifier) Keys() (keys int, age time.Duration) {
	fetched := v.keys.fetched.Load()
	if fetched == nil {
		return 0, -1
	}
	all, err := v.keys.KeyReadAll(context.Background())
	if err != nil {
		panic("read keys from memory: " + err.Error())
	}
	return len(all), v.cfg.Now().Sub(*fetched)
}

// authenticate returns the identity of a request. A bad token is 401 without a reason;
// it is 503 while there are no keys to verify it with.
func (v *Verifier) authenticate(r *http.Request) (identity, error) {
	token, err := bearer(r)
	if err != nil {
		return identity{}, err
	}
	hash := sha256.Sum256([]byte(token))
	if known, ok := v.verified.GetIfPresent(hash); ok && v.stillValid(r.Context(), known) {
		return known.identity, nil
	}
	fresh, err := v.verify(r.Context(), token)
	if reason := v.keys.distrust(); err != nil && reason != nil {
		return identity{}, fmt.Errorf("%w: %w", core.ErrUnavailable, reason)
	}
	if err != nil {
		return identity{}, errUnauthenticated()
	}
	v.verified.Set(hash, fresh)
	return fresh.identity, nil
}

// verified is a token that was verified. It is remembered by the hash of the whole
// token, so that no other token can be mistaken for it.
type verified struct {
	identity identity
	expires  time.Time
	kid, alg string
	key      publicKey
}

// publicKey is what all public keys of the standard library implement.
type publicKey interface {
	Equal(other crypto.PublicKey) bool
}

// stillValid checks what can change after a token was verified: it expires, and its key
// may be removed from the issuer's set or replaced, or grow too old.
func (v *Verifier) stillValid(ctx context.Context, known verified) bool {
	return v.cfg.Now().Before(known.expires.Add(leeway)) && v.keys.has(ctx, known.kid, known.alg, known.key)
}

// verify checks form, signature and claims of a token.
func (v *Verifier) verify(ctx context.Context, token string) (verified, error) {
	if !isStrictToken(token) {
		return verified{}, errors.New("the token is ambiguous JSON")
	}
	claims := jwt.MapClaims{}
	var used any
	find := v.findKey(ctx)
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
		return verified{}, errors.New("unusable key or expiry")
	}
	id, err := v.identify(claims)
	kid, _ := parsed.Header["kid"].(string)
	return verified{identity: id, expires: expires.Time, kid: kid, alg: parsed.Method.Alg(), key: key}, err
}

// bearer returns the token of the Authorization header (RFC 6750, section 2.1). A token
// in the query is refused, because URLs are logged.
func bearer(r *http.Request) (string, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 || r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return "", errUnauthenticated()
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return "", errUnauthenticated()
	}
	return token, nil
}

func errUnauthenticated() error {
	return newProblem(wire.ProblemCodeUnauthenticated, "send a valid bearer token")
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
		if err != nil || !isStrictJSON(raw) {
			return false
		}
	}
	return true
}

// findKey returns a function that finds the key of a token by its kid. Without a kid
// the library would try every key, and it would ignore a critical extension that it
// does not know (crit; RFC 7515, section 4.1.11).
func (v *Verifier) findKey(ctx context.Context) jwt.Keyfunc {
	find := v.keyfunc.KeyfuncCtx(ctx)
	return func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		if _, critical := t.Header["crit"]; kid == "" || critical || !v.acceptsType(t.Header) {
			return nil, errors.New("the token has no kid, a critical extension or another type")
		}
		return find(t)
	}
}

// identify returns subject and roles of verified claims.
func (v *Verifier) identify(claims jwt.MapClaims) (identity, error) {
	subject, err := claims.GetSubject()
	if err != nil || !subjectPattern.MatchString(subject) || !hasExactTimes(claims) ||
		!v.boundsLifetime(claims) || isForOtherPurpose(claims) {
		return identity{}, errors.New("unusable claims")
	}
	actor := core.Actor{Subject: subject, Roles: rolesAt(claims, v.cfg.RolesClaim)}
	return identity{actor: actor, scope: idempotency.NewScope(v.cfg.Issuer, subject)}, nil
}

// hasExactTimes reports whether the library keeps the times of the claims as they are.
func hasExactTimes(claims jwt.MapClaims) bool {
	for _, name := range []string{"exp", "nbf", "iat"} {
		if t, ok := claims[name].(float64); ok && (t < 0 || t > maxTime) {
			return false
		}
	}
	return true
}

// rolesAt is the only converter of claims to roles (AUTH-7): a list or a
// space-separated string at a path such as "realm_access.roles". Unknown names grant
// nothing.
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

// namesIn returns the strings of a claim.
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
