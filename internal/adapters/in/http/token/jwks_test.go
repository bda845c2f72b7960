package token

import (
	"context"
	"crypto"
	"crypto/elliptic"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		Now: clock.now, OnRefreshError: func(err error) { failure.Store(err.Error()) }, OnUnusedKey: func(UnusedKey) {},
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
	if err := send(v, token); !errors.As(err, new(*Rejection)) {
		t.Errorf("a token of a key that is gone: %v, want it refused", err)
	}
}

// Issuers keep unusable keys, for encryption for one. The log names them once, not every
// five minutes.
func TestVerifier_ReportsUnusedKeysOncePerChange(t *testing.T) {
	t.Parallel()
	_, ecKey, _ := publicKeys(t)
	encryption, other := ecKey.with("kid", "enc").with("use", "enc"), ecKey.with("kid", "enc").with("kty", "LWE")
	issuer := newTestIssuer(t)
	var reported []UnusedKey
	s := newKeySet(Config{
		JWKSURL: issuer.url, Now: time.Now, MaxKeyAge: time.Hour, OnRefreshError: func(error) {},
		OnUnusedKey: func(k UnusedKey) { reported = append(reported, k) },
	})
	use := UnusedKey{"enc", "its use or key_ops excludes verifying"}
	kind := UnusedKey{"enc", "its kty, crv and alg do not stand for RS256, PS256, ES256 or EdDSA"}
	for _, c := range []struct {
		name string
		keys []jwk
		want []UnusedKey
	}{
		{"first, without a usable key", []jwk{encryption, encryption}, []UnusedKey{use}},
		{"a usable one is added", []jwk{encryption, ecKey}, nil},
		{"again", []jwk{ecKey, encryption}, nil},
		{"for another cause", []jwk{encryption, ecKey, other}, []UnusedKey{kind}},
		{"gone", []jwk{ecKey}, nil},
		{"back", []jwk{ecKey, encryption, other}, []UnusedKey{use, kind}},
		{"the issuer fails", nil, nil},
		{"after its failure", []jwk{ecKey, encryption, other}, nil},
	} {
		reported = nil
		issuer.publish(t, c.keys...)
		if c.keys == nil {
			issuer.fail()
		}
		s.fetch(t.Context())
		if !slices.Equal(reported, c.want) {
			t.Errorf("%s: reported %v, want %v", c.name, reported, c.want)
		}
	}
}

// slowIssuer answers with a key set after a while.
type slowIssuer struct {
	set  string
	took time.Duration
}

func (i slowIssuer) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(i.took):
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(i.set))}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// An issuer may need longer than a request waits for it. What it answers counts anyway.
func TestKeySet_WaitsLongerForTheIssuerThanARequest(t *testing.T) {
	t.Parallel()
	_, ecKey, _ := publicKeys(t)
	set := jsonOf(t, map[string]any{"keys": []jwk{ecKey}})
	for took, want := range map[time.Duration]time.Duration{
		0: 0, 1900 * time.Millisecond: 1900 * time.Millisecond, 2500 * time.Millisecond: keyPatience, 9900 * time.Millisecond: keyPatience,
	} {
		synctest.Test(t, func(t *testing.T) { // time passes only while all goroutines wait
			s := newKeySet(Config{Now: time.Now, MaxKeyAge: time.Hour, OnRefreshError: func(err error) { t.Error(err) }})
			s.client.Transport = slowIssuer{set, took}
			began := time.Now()
			found := s.find(t.Context(), keyName{"main", "ES256"})
			if waited := time.Since(began); waited != want || (found != nil) != (took < keyPatience) {
				t.Errorf("an issuer that needs %v: a request waited %v, want %v, and found %v", took, waited, want, found)
			}
			for range 3 { // until the answer is there
				found = s.find(t.Context(), keyName{"main", "ES256"})
				time.Sleep(keyPatience)
			}
			if waited := time.Since(began); found == nil {
				t.Errorf("an issuer that needs %v: no key after %v", took, waited)
			}
		})
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
		OnUnusedKey: func(UnusedKey) {}, Roles: ourRoles,
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
		OnUnusedKey: func(UnusedKey) {}, Roles: ourRoles,
	}
	changes := map[string]func(*Config){
		"issuer": func(c *Config) { c.Issuer = "" }, "audience": func(c *Config) { c.Audience = "" },
		"JWKS URL": func(c *Config) { c.JWKSURL = "" }, "roles claim": func(c *Config) { c.RolesClaim = "" },
		"types": func(c *Config) { c.Types = nil }, "lifetime": func(c *Config) { c.MaxLifetime = 0 },
		"age of keys": func(c *Config) { c.MaxKeyAge = 0 }, "clock": func(c *Config) { c.Now = nil },
		"report":     func(c *Config) { c.OnRefreshError = nil },
		"unused key": func(c *Config) { c.OnUnusedKey = nil },
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
