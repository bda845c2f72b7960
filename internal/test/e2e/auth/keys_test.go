package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
)

// keyServer publishes keys in the place of the issuer, and counts requests.
type keyServer struct {
	answer   atomic.Pointer[http.HandlerFunc]
	requests atomic.Int64
}

// publish sets what the server answers from now on.
func (k *keyServer) publish(answer http.HandlerFunc) { k.answer.Store(&answer) }

// newKeyServer makes replicas that start from now on get their keys from it.
func newKeyServer(t testing.TB, env *e2e.Env, answer http.HandlerFunc) *keyServer {
	t.Helper()
	k := &keyServer{}
	k.publish(answer)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		k.requests.Add(1)
		(*k.answer.Load())(rw, r)
	}))
	t.Cleanup(server.Close)
	env.JWKSURL = server.URL + devissuer.JWKSPath
	return k
}

// keySet returns a handler that publishes keys.
func keySet(t testing.TB, keys ...jwkset.JWKMarshal) http.HandlerFunc {
	t.Helper()
	body := text(t, jwkset.JWKSMarshal{Keys: keys})
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) }
}

func publicJWK(t testing.TB, key crypto.PublicKey, id, alg, use string) jwkset.JWKMarshal {
	t.Helper()
	jwk, err := jwkset.NewJWKFromKey(key, jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{
		KID: id, ALG: jwkset.ALG(alg), USE: jwkset.USE(use),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return jwk.Marshal()
}

func TestKeys_VerifyOnlyWhatTheyArePublishedFor(t *testing.T) {
	t.Parallel()
	p256 := signingKey(t)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	env := e2e.NewEnv(t)
	newKeyServer(t, env, keySet(t,
		publicJWK(t, p256.Public(), "ec", "ES256", "sig"), publicJWK(t, p384.Public(), "ec384", "ES384", "sig"),
		publicJWK(t, rsaKey.Public(), "rs", "RS256", "sig"), publicJWK(t, rsaKey.Public(), "ps", "PS256", "sig"),
		publicJWK(t, rsaKey.Public(), "rsa", "", ""), publicJWK(t, edPublic, "ed", "EdDSA", "sig"),
		publicJWK(t, p256.Public(), "enc", "", "enc"),
	))
	s := env.StartReplica(t)
	for _, c := range []struct {
		name, kid string
		method    jwt.SigningMethod
		key       any
		accepted  bool
	}{
		{"ES256", "ec", jwt.SigningMethodES256, p256, true},
		{"RS256", "rs", jwt.SigningMethodRS256, rsaKey, true},
		{"PS256", "ps", jwt.SigningMethodPS256, rsaKey, true},
		{"EdDSA", "ed", jwt.SigningMethodEdDSA, edKey, true},
		{"a key without alg and use", "rsa", jwt.SigningMethodPS256, rsaKey, true},
		{"a method that is not allowed, though published", "ec384", jwt.SigningMethodES384, p384, false},
		{"RS512", "rsa", jwt.SigningMethodRS512, rsaKey, false},
		{"another alg than is published", "rs", jwt.SigningMethodPS256, rsaKey, false},
		{"a key for encryption", "enc", jwt.SigningMethodES256, p256, false},
		{"the kid of another key", "rs", jwt.SigningMethodES256, p256, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ask := balanceCall(honest(env).signedBy(c.method, c.key).withHeader("kid", c.kid).token(t))
			if !c.accepted {
				checkUnauthenticated(t, s, ask)
				return
			}
			if r := s.Send(t, ask); r.Status != http.StatusOK {
				t.Errorf("status %d: %s", r.Status, r.Body)
			}
		})
	}
}

// The service asks the issuer for unknown keys at most once in ten seconds, so this
// takes that long.
func TestKeys_RotatedAreFoundAndRetiredForgotten(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	status := func(token string) int { return s.Send(t, balanceCall(token)).Status }
	before := honest(s.Env).token(t)
	if got := status(before); got != http.StatusOK {
		t.Fatalf("the first key: status %d", got)
	}
	if err := s.Issuer.Rotate(); err != nil {
		t.Fatal(err)
	}
	after := honest(s.Env)
	if got := status(after.token(t)); got != http.StatusOK {
		t.Errorf("the new key, at once: status %d", got)
	}
	if got := status(before); got != http.StatusOK {
		t.Errorf("the old key, still published: status %d", got)
	}
	if err := s.Issuer.Retire(); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, "the old key is refused", func() bool {
		if got := status(after.withHeader("kid", rand.Text()).token(t)); got != http.StatusUnauthorized {
			t.Errorf("an unknown key, which makes the service ask the issuer: status %d", got)
		}
		return status(before) == http.StatusUnauthorized
	})
	if got := status(after.token(t)); got != http.StatusOK {
		t.Errorf("the new key, after all: status %d", got)
	}
}

// A token that was verified may be cached, but not longer than it is valid.
func TestTokens_AreRefusedWhenTheyExpire(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	token := honest(s.Env).with("exp", fromNow(-27*time.Second)).token(t)
	if r := s.Send(t, balanceCall(token)); r.Status != http.StatusOK {
		t.Fatalf("seconds before the leeway ends: status %d: %s", r.Status, r.Body)
	}
	e2e.Eventually(t, "the token is refused", func() bool { return s.Send(t, balanceCall(token)).Status == http.StatusUnauthorized })
}

// Another key may replace one that leaked under the same ID. What the old one signed is
// no longer accepted.
func TestKeys_ReplacedAreForgotten(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	leaked, next := signingKey(t), signingKey(t)
	keys := newKeyServer(t, env, keySet(t, publicJWK(t, leaked.Public(), "main", "ES256", "sig")))
	s := env.StartReplica(t)
	before := honest(env).signedBy(jwt.SigningMethodES256, leaked).withHeader("kid", "main").token(t)
	after := honest(env).signedBy(jwt.SigningMethodES256, next).withHeader("kid", "main").token(t)
	if r := s.Send(t, balanceCall(before)); r.Status != http.StatusOK {
		t.Fatalf("the first key: status %d: %s", r.Status, r.Body)
	}
	keys.publish(keySet(t, publicJWK(t, next.Public(), "main", "ES256", "sig")))
	e2e.Eventually(t, "the first key is refused", func() bool {
		s.WantProblem(t, http.StatusUnauthorized, "unauthenticated", balanceCall(honest(env).withHeader("kid", rand.Text()).token(t)))
		return s.Send(t, balanceCall(before)).Status == http.StatusUnauthorized
	})
	if r := s.Send(t, balanceCall(after)); r.Status != http.StatusOK {
		t.Errorf("the second key: status %d: %s", r.Status, r.Body)
	}
}

func signingKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Forged tokens with ever new key IDs must not become load on the issuer.
func TestKeys_UnknownOnesDoNotFloodIssuer(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	keys := newKeyServer(t, env, env.Issuer.Handler().ServeHTTP)
	s := env.StartReplica(t)
	started, before := time.Now(), keys.requests.Load()
	for range 50 {
		checkUnauthenticated(t, s, balanceCall(honest(env).withHeader("kid", rand.Text()).token(t)))
	}
	if most := 2 + int64(time.Since(started)/(10*time.Second)); keys.requests.Load()-before > most {
		t.Errorf("the issuer was asked %d times for 50 unknown keys, want at most %d", keys.requests.Load()-before, most)
	}
	if r := s.Send(t, balanceCall(honest(env).token(t))); r.Status != http.StatusOK {
		t.Errorf("a good token afterwards: status %d", r.Status)
	}
}

// outages are the ways in which an issuer fails.
func outages(env *e2e.Env, done <-chan struct{}) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"hangs up": func(_ http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
		"fails":    func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) },
		"garbage":  func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, "<html>maintenance</html>") },
		"no keys":  func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, `{"keys": []}`) },
		"null":     func(rw http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(rw, `null`) },
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-done:
			case <-r.Context().Done():
			}
		},
		"huge": func(rw http.ResponseWriter, r *http.Request) { // the right keys, after two megabytes of spaces
			_, _ = fmt.Fprint(rw, strings.Repeat(" ", 2<<20))
			env.Issuer.Handler().ServeHTTP(rw, r)
		},
	}
}

// All services wait for their keys at the same time, because each asks the issuer at
// most once in ten seconds.
func TestKeys_ServiceIsNotReadyWithoutThemAndRecovers(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	ready := e2e.Call{Method: "GET", Path: "/health/ready"}
	services := map[string]*e2e.Service{}
	env := e2e.NewEnv(t)
	for name, outage := range outages(env, done) {
		keys := newKeyServer(t, env, outage)
		s := env.StartReplica(t)
		services[name] = s
		t.Run(name, func(t *testing.T) {
			for what, c := range map[string]e2e.Call{"readiness": ready, "a request": balanceCall(honest(env).token(t))} {
				r := s.WantProblem(t, http.StatusServiceUnavailable, "unavailable", c)
				if r.Header.Get("Retry-After") == "" {
					t.Errorf("%s: no Retry-After", what)
				}
			}
			if r := s.Send(t, e2e.Call{Method: "GET", Path: "/health/live"}); r.Status != http.StatusOK {
				t.Errorf("liveness: status %d", r.Status)
			}
			s.WantProblem(t, http.StatusUnauthorized, "unauthenticated", balanceCall(""))
		})
		keys.publish(func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(200 * time.Millisecond) // as far away as an issuer may be
			env.Issuer.Handler().ServeHTTP(rw, r)
		})
	}
	for name, s := range services {
		t.Run(name+" is over", func(t *testing.T) {
			e2e.Eventually(t, "ready", func() bool { return s.Send(t, ready).Status == http.StatusOK })
			if r := s.Send(t, balanceCall(honest(s.Env).token(t))); r.Status != http.StatusOK {
				t.Errorf("a request: status %d: %s", r.Status, r.Body)
			}
		})
	}
}

// When an issuer fails later, the keys that are known stay. An empty set is not a
// failure: the issuer says that no key is valid.
func TestKeys_SurviveOutageOfIssuer(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	env := e2e.NewEnv(t)
	for name, outage := range outages(env, done) {
		if name == "no keys" || name == "null" {
			continue
		}
		keys := newKeyServer(t, env, env.Issuer.Handler().ServeHTTP)
		s := env.StartReplica(t)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys.publish(outage)
			before := keys.requests.Load()
			checkUnauthenticated(t, s, balanceCall(honest(env).withHeader("kid", "unknown").token(t)))
			if keys.requests.Load() == before {
				t.Fatal("the issuer was not asked: this proves nothing")
			}
			if r := s.Send(t, balanceCall(honest(env).token(t))); r.Status != http.StatusOK {
				t.Errorf("a known key: status %d: %s", r.Status, r.Body)
			}
			if r := s.Send(t, e2e.Call{Method: "GET", Path: "/health/ready"}); r.Status != http.StatusOK {
				t.Errorf("readiness: status %d: %s", r.Status, r.Body)
			}
		})
	}
}
