package token

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"example.com/orders/internal/core"
)

// testClock is a clock that a test advances.
type testClock struct{ elapsed atomic.Int64 }

func (c *testClock) now() time.Time { return time.Unix(1_800_000_000, c.elapsed.Load()) }

func (c *testClock) advance(d time.Duration) { c.elapsed.Add(int64(d)) }

// testIssuer publishes keys, and counts who asks for them.
type testIssuer struct {
	url      string
	answer   atomic.Pointer[http.HandlerFunc]
	requests atomic.Int64
}

func newTestIssuer(t testing.TB, keys ...jwk) *testIssuer {
	t.Helper()
	issuer := &testIssuer{}
	issuer.publish(t, keys...)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		issuer.requests.Add(1)
		(*issuer.answer.Load())(w, r)
	}))
	t.Cleanup(server.Close)
	issuer.url = server.URL
	return issuer
}

func (i *testIssuer) answerWith(answer http.HandlerFunc) { i.answer.Store(&answer) }

func (i *testIssuer) publish(t testing.TB, keys ...jwk) {
	t.Helper()
	set := jsonOf(t, map[string]any{"keys": keys})
	i.answerWith(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(set)) })
}

func (i *testIssuer) fail() {
	i.answerWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
}

// ourRoles are the roles by their own names.
var ourRoles = map[string]core.Role{"customer": core.Customer, "seller": core.Seller, "admin": core.Admin, "system": core.System}

// newTestVerifier returns a verifier that trusts keys for an hour, and the last reason
// why it could not fetch them.
func newTestVerifier(t testing.TB, issuer *testIssuer, clock *testClock) (v *Verifier, failure *atomic.Value) {
	t.Helper()
	failure = &atomic.Value{}
	ctx, cancel := context.WithCancel(t.Context())
	v, err := NewVerifier(ctx, Config{
		Issuer: "issuer", Audience: "orders", JWKSURL: issuer.url, RolesClaim: "roles", Roles: ourRoles,
		Types: []string{"JWT"}, MaxLifetime: 24 * time.Hour, MaxKeyAge: time.Hour,
		Now: clock.now, OnRefreshError: func(err error) { failure.Store(err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); v.Close() })
	return v, failure
}

// sign returns a token that is valid for twelve hours, with a kid.
func sign(t testing.TB, clock *testClock, kid string, method jwt.SigningMethod, key crypto.Signer) string {
	t.Helper()
	now := clock.now()
	token := jwt.NewWithClaims(method, jwt.MapClaims{
		"iss": "issuer", "aud": "orders", "sub": "ann", "roles": []string{"system"}, "iat": now.Unix(), "exp": now.Add(12 * time.Hour).Unix(),
	})
	token.Header["kid"] = kid
	signed, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// send authenticates a request with a token.
func send(v *Verifier, token string) error {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	_, err := v.Authenticate(r)
	return err
}

// An issuer that is silent cannot withdraw a key that leaked.
func TestVerifier_TrustsKeysForALimitedTime(t *testing.T) {
	t.Parallel()
	clock, key := &testClock{}, newEC(t, elliptic.P256())
	issuer := newTestIssuer(t, keyOf(t, key.Public()))
	v, failure := newTestVerifier(t, issuer, clock)
	remembered := sign(t, clock, "main", jwt.SigningMethodES256, key)
	issuer.fail()

	clock.advance(time.Hour)
	if err := errors.Join(v.Ready(t.Context()), send(v, remembered)); err != nil {
		t.Errorf("after an hour: %v", err)
	}
	clock.advance(time.Second)
	for name, token := range map[string]string{
		"remembered": remembered, "new": sign(t, clock, "main", jwt.SigningMethodES256, key),
	} {
		if err := send(v, token); !errors.Is(err, core.ErrUnavailable) {
			t.Errorf("after more than an hour, a %s token: %v, want %v", name, err, core.ErrUnavailable)
		}
	}
	const reason = "the issuer's signing keys are older than 1h0m0s and no longer trusted"
	if err := v.Ready(t.Context()); err == nil || err.Error() != reason {
		t.Errorf("readiness: %v, want %s", err, reason)
	}
	if got := failure.Load(); got != "status 500; "+reason {
		t.Errorf("the log says %v", got)
	}

	issuer.publish(t, keyOf(t, key.Public()))
	clock.advance(unknownKeyInterval)
	if err := errors.Join(v.Ready(t.Context()), send(v, remembered)); err != nil {
		t.Errorf("when the issuer is back: %v", err)
	}
}

// A token that was verified is refused as soon as its key would not verify it any more.
func TestVerifier_ForgetsTokensWhoseKeyIsGone(t *testing.T) {
	t.Parallel()
	clock, key := &testClock{}, newEC(t, elliptic.P256())
	issuer := newTestIssuer(t, keyOf(t, key.Public()))
	v, _ := newTestVerifier(t, issuer, clock)
	token := sign(t, clock, "main", jwt.SigningMethodES256, key)
	if err := send(v, token); err != nil {
		t.Fatal(err)
	}
	issuer.publish(t, keyOf(t, newEC(t, elliptic.P256()).Public()))
	_ = send(v, sign(t, clock, "unknown", jwt.SigningMethodES256, key)) // makes us ask the issuer
	if err := send(v, token); !errors.As(err, new(*Refusal)) {
		t.Errorf("a token of a key that is gone: %v, want it refused", err)
	}
}

// Whoever comes with a new key while it is fetched waits for it.
func TestVerifier_FetchesANewKeyOnceForAll(t *testing.T) {
	t.Parallel()
	clock, next := &testClock{}, newEC(t, elliptic.P256())
	issuer := newTestIssuer(t, keyOf(t, newEC(t, elliptic.P256()).Public()))
	v, _ := newTestVerifier(t, issuer, clock)
	issuer.publish(t, keyOf(t, next.Public()).with("kid", "next"))
	published, asked := *issuer.answer.Load(), make(chan struct{})
	issuer.answerWith(func(w http.ResponseWriter, r *http.Request) {
		<-asked
		published(w, r)
	})
	token := sign(t, clock, "next", jwt.SigningMethodES256, next)
	var requests sync.WaitGroup
	for range 20 {
		requests.Go(func() {
			if err := send(v, token); err != nil {
				t.Errorf("a token of the new key: %v", err)
			}
		})
	}
	close(asked)
	requests.Wait()
	if n := issuer.requests.Load(); n != 2 {
		t.Errorf("the issuer was asked %d times, want twice: at the start and for the new key", n)
	}
}

// The query of a URL may contain a secret.
func TestVerifier_ReportsFailuresWithoutTheURL(t *testing.T) {
	t.Parallel()
	issuer := newTestIssuer(t)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, jwksURL := range []string{issuer.url + "/keys?secret=hunter2", closed.URL + "/keys?secret=hunter2", "http://%zz?secret=hunter2"} {
		_, failure := newTestVerifier(t, &testIssuer{url: jwksURL}, &testClock{})
		if got, _ := failure.Load().(string); got == "" || strings.Contains(got, "hunter2") {
			t.Errorf("%s: the log says %q", jwksURL, got)
		}
	}
}

// A process that is stopped during its start says nothing about its issuer.
func TestNewVerifier_ReportsNoFailureOfTheIssuerWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v, err := NewVerifier(ctx, Config{
		Issuer: "issuer", Audience: "orders", JWKSURL: newTestIssuer(t).url, RolesClaim: "roles", Types: []string{"JWT"},
		MaxLifetime: time.Hour, MaxKeyAge: time.Hour, Now: time.Now, OnRefreshError: func(err error) { t.Errorf("reported: %v", err) },
		Roles: ourRoles,
	})
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
}

func TestNewVerifier_RequiresEveryMember(t *testing.T) {
	t.Parallel()
	complete := Config{
		Issuer: "issuer", Audience: "orders", JWKSURL: newTestIssuer(t).url, RolesClaim: "roles", Types: []string{"JWT"},
		MaxLifetime: time.Hour, MaxKeyAge: time.Hour, Now: time.Now, OnRefreshError: func(error) {},
		Roles: ourRoles,
	}
	changes := map[string]func(*Config){
		"issuer": func(c *Config) { c.Issuer = "" }, "audience": func(c *Config) { c.Audience = "" },
		"JWKS URL": func(c *Config) { c.JWKSURL = "" }, "roles claim": func(c *Config) { c.RolesClaim = "" },
		"types": func(c *Config) { c.Types = nil }, "lifetime": func(c *Config) { c.MaxLifetime = 0 },
		"age of keys": func(c *Config) { c.MaxKeyAge = 0 }, "clock": func(c *Config) { c.Now = nil },
		"report":     func(c *Config) { c.OnRefreshError = nil },
		"role names": func(c *Config) { c.Roles = nil }, "only one of audience and clients": func(c *Config) { c.Clients = []string{"web"} },
	}
	for name, change := range changes {
		incomplete := complete
		change(&incomplete)
		if v, err := NewVerifier(t.Context(), incomplete); err == nil {
			v.Close()
			t.Errorf("a verifier without %s is accepted", name)
		}
	}
}

// jwk is a published key as JSON.
type jwk map[string]any

// with returns the key with a member; nil removes it.
func (k jwk) with(name string, value any) jwk {
	changed := maps.Clone(k)
	changed[name] = value
	if value == nil {
		delete(changed, name)
	}
	return changed
}

// keyOf returns a key for signatures, without alg. A private key is published as such.
func keyOf(t testing.TB, key any) jwk {
	t.Helper()
	made, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{
		Marshal: jwkset.JWKMarshalOptions{Private: true}, Metadata: jwkset.JWKMetadataOptions{KID: "main", USE: jwkset.UseSig},
	})
	if err != nil {
		t.Fatal(err)
	}
	var k jwk
	if err := json.Unmarshal([]byte(jsonOf(t, made.Marshal())), &k); err != nil {
		t.Fatal(err)
	}
	return k.with("alg", nil)
}

func newRSA(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newEC(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publicKeys returns a key of each kind that can be used.
func publicKeys(t testing.TB) (rsaKey, ecKey, edKey jwk) {
	t.Helper()
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return keyOf(t, newRSA(t, 2048).Public()), keyOf(t, newEC(t, elliptic.P256()).Public()), keyOf(t, ed)
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A key without alg stands for one algorithm: what others would do with it is not our
// signature.
func TestUsableKey_HasOneAlgorithm(t *testing.T) {
	t.Parallel()
	rsaKey, ecKey, edKey := publicKeys(t)
	for name, c := range map[string]struct {
		key jwk
		alg string
	}{
		"RSA":           {rsaKey, "RS256"},
		"RSA, RS256":    {rsaKey.with("alg", "RS256"), "RS256"},
		"RSA, PS256":    {rsaKey.with("alg", "PS256"), "PS256"},
		"EC":            {ecKey, "ES256"},
		"EC, ES256":     {ecKey.with("alg", "ES256"), "ES256"},
		"Ed25519":       {edKey, "EdDSA"},
		"its two names": {edKey.with("alg", "Ed25519"), "EdDSA"},
		"without use":   {ecKey.with("use", nil), "ES256"},
		"to verify":     {ecKey.with("key_ops", []string{"verify"}), "ES256"},
		"and to sign":   {ecKey.with("key_ops", []string{"sign", "verify"}), "ES256"},
		"other members": {ecKey.with("x-note", "of the issuer").with("x5u", "https://issuer.example/cert"), "ES256"},
	} {
		key, ok := usableKey([]byte(jsonOf(t, c.key)))
		if got := key.Marshal().ALG.String(); !ok || got != c.alg {
			t.Errorf("%s: usable %t for %q, want %s", name, ok, got, c.alg)
		}
	}
}

func TestUsableKey_RefusesOthers(t *testing.T) {
	t.Parallel()
	rsaKey, ecKey, edKey := publicKeys(t)
	ecPrivate := keyOf(t, newEC(t, elliptic.P256()))
	notOnCurve := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	for name, key := range map[string]any{
		"RSA of 1024 bits":       keyOf(t, weakRSA(1024).Public()),
		"RSA of 2047 bits":       keyOf(t, weakRSA(2047).Public()),
		"RSA of 16384 bits":      keyOf(t, weakRSA(16384).Public()),
		"RSA with exponent 1":    rsaKey.with("e", "AQ"),
		"RSA with exponent 2":    rsaKey.with("e", "Ag"),
		"RSA for encryption":     rsaKey.with("alg", "RSA-OAEP"),
		"RSA for RS512":          rsaKey.with("alg", "RS512"),
		"RSA for HS256":          rsaKey.with("alg", "HS256"),
		"RSA for none":           rsaKey.with("alg", "none"),
		"RSA for ES256":          rsaKey.with("alg", "ES256"),
		"RSA for Ed25519":        rsaKey.with("alg", "Ed25519"),
		"a private RSA key":      keyOf(t, newRSA(t, 2048)),
		"one member of it":       rsaKey.with("dq", "AQAB"),
		"more primes":            rsaKey.with("oth", []jwk{{"r": "AQ", "d": "AQ", "t": "AQ"}}),
		"P-384":                  keyOf(t, newEC(t, elliptic.P384()).Public()),
		"P-521":                  keyOf(t, newEC(t, elliptic.P521()).Public()),
		"secp256k1":              ecKey.with("crv", "secp256k1"),
		"EC not on the curve":    ecKey.with("x", notOnCurve),
		"EC without y":           ecKey.with("y", nil),
		"EC for RS256":           ecKey.with("alg", "RS256"),
		"a private EC key":       ecPrivate,
		"X25519":                 edKey.with("crv", "X25519"),
		"Ed25519 of 31 bytes":    edKey.with("x", strings.Repeat("A", 42)),
		"a symmetric key":        jwk{"kty": "oct", "kid": "main", "k": "c2VjcmV0", "alg": "HS256", "use": "sig"},
		"a key beside k":         ecKey.with("k", "c2VjcmV0"),
		"another kind":           ecKey.with("kty", "LWE"),
		"for encryption":         ecKey.with("use", "enc"),
		"for something else":     ecKey.with("use", "tls"),
		"use as a list":          ecKey.with("use", []string{"sig"}),
		"to sign only":           ecKey.with("key_ops", []string{"sign"}),
		"to encrypt only":        ecKey.with("key_ops", []string{"encrypt", "wrapKey"}),
		"for no operation":       ecKey.with("key_ops", []string{}),
		"operations as a string": ecKey.with("key_ops", "verify"),
		"without kid":            ecKey.with("kid", nil),
		"kid as a number":        ecKey.with("kid", 1),
		"no base64":              ecKey.with("x", "!"),
		"no object":              "main",
		"null":                   nil,
	} {
		if got, ok := usableKey([]byte(jsonOf(t, key))); ok {
			t.Errorf("%s: usable for %s", name, got.Marshal().ALG)
		}
	}
	if _, ok := usableKey([]byte(strings.Replace(jsonOf(t, ecKey), `"kid"`, `"kid":"other","kid"`, 1))); ok {
		t.Error("a member twice: usable")
	}
}

// weakRSA returns a key whose modulus has so many bits. Nobody could sign with it.
func weakRSA(bits int) *rsa.PrivateKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}}
}

func TestUsableKeys_PassesOverWhatItCannotUse(t *testing.T) {
	t.Parallel()
	rsaKey, ecKey, _ := publicKeys(t)
	malformed := ecKey.with("kid", "malformed").with("x", 5)
	keys, err := usableKeys([]byte(jsonOf(t, map[string]any{
		"keys": []any{malformed, rsaKey.with("kid", "old").with("use", "enc"), nil, ecKey, rsaKey, rsaKey.with("kid", "other")},
	})))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, key := range keys {
		found = append(found, key.Marshal().KID+" "+key.Marshal().ALG.String())
	}
	if want := []string{"main ES256", "other RS256"}; !slices.Equal(found, want) {
		t.Errorf("keys %v, want %v: the first one of a kid counts", found, want)
	}
}

func TestUsableKeys_RefusesASetWithoutAny(t *testing.T) {
	t.Parallel()
	_, ecKey, _ := publicKeys(t)
	var many []jwk
	for range maxKeys + 1 {
		many = append(many, ecKey)
	}
	for name, set := range map[string]string{
		"nothing":         "",
		"HTML":            "<html>maintenance</html>",
		"null":            "null",
		"an empty object": "{}",
		"an empty set":    `{"keys": []}`,
		"keys are null":   `{"keys": null}`,
		"keys are one":    jsonOf(t, map[string]any{"keys": ecKey}),
		"a list":          jsonOf(t, []jwk{ecKey}),
		"a key":           jsonOf(t, ecKey),
		"half a set":      jsonOf(t, map[string]any{"keys": []jwk{ecKey}})[:100],
		"unusable ones":   jsonOf(t, map[string]any{"keys": []jwk{ecKey.with("use", "enc"), ecKey.with("x", 1)}}),
		"too many":        jsonOf(t, map[string]any{"keys": many}),
	} {
		if keys, err := usableKeys([]byte(set)); err == nil {
			t.Errorf("%s: %d keys, want an error", name, len(keys))
		}
	}
}
