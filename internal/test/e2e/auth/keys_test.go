package auth_test

import (
	"bytes"
	"compress/gzip"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
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

// signer is a key with which tokens are signed.
type signer struct {
	kid    string
	method jwt.SigningMethod
	key    crypto.Signer
}

// newSigners returns a signer for each algorithm that the service accepts. Its kid is the
// name of the algorithm.
func newSigners(t testing.TB) map[string]signer {
	t.Helper()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signers := map[string]signer{}
	for method, key := range map[jwt.SigningMethod]crypto.Signer{
		jwt.SigningMethodES256: signingKey(t), jwt.SigningMethodRS256: rsaKey,
		jwt.SigningMethodPS256: rsaKey, jwt.SigningMethodEdDSA: edKey,
	} {
		signers[method.Alg()] = signer{method.Alg(), method, key}
	}
	return signers
}

// jwk returns the public key as the issuer publishes it.
func (s signer) jwk(t testing.TB) jwkset.JWKMarshal {
	t.Helper()
	return publicJWK(t, s.key.Public(), s.kid, s.method.Alg(), "sig")
}

// startWithSigners starts a replica that accepts tokens of all signers.
func startWithSigners(t testing.TB, settings ...string) (*e2e.Service, map[string]signer) {
	t.Helper()
	env, signers := e2e.NewEnv(t), newSigners(t)
	var keys []jwkset.JWKMarshal
	for _, s := range signers {
		keys = append(keys, s.jwk(t))
	}
	newKeyServer(t, env, keySet(t, keys...))
	return env.StartReplica(t, settings...), signers
}

// by returns the forge with the key of a signer.
func (f forge) by(s signer) forge { return f.signedBy(s.method, s.key).withHeader("kid", s.kid) }

// A token that was verified may be cached, but not longer than it is valid.
func TestTokens_AreRefusedWhenTheyExpire(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	token := honest(s.Env).with("exp", fromNow(-24*time.Second)).token(t)
	s.MustSend(t, balanceCall(token)) // seconds before the leeway ends
	e2e.Eventually(t, "the token is refused", func() bool { return s.Send(t, balanceCall(token)).Status == http.StatusUnauthorized })
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
	s.MustSend(t, balanceCall(honest(env).token(t)))
}

// outages are the ways in which an issuer fails. None of them has a usable key.
func outages(t testing.TB, env *e2e.Env, done <-chan struct{}) map[string]http.HandlerFunc {
	t.Helper()
	good := env.Issuer.Handler()
	return map[string]http.HandlerFunc{
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"fails": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			good.ServeHTTP(w, r)
		},
		"no keys": keySet(t),
		"slow within the body": func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, `{"keys": [`)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-done:
			case <-r.Context().Done():
			}
		},
		"huge": func(w http.ResponseWriter, r *http.Request) { // the right keys, after two megabytes of spaces
			_, _ = fmt.Fprint(w, strings.Repeat(" ", 2<<20))
			good.ServeHTTP(w, r)
		},
		"gzip bomb": gzipBomb(t, good),
		"truncated": func(w http.ResponseWriter, r *http.Request) {
			response := httptest.NewRecorder()
			good.ServeHTTP(response, r)
			w.Header().Set("Content-Length", fmt.Sprint(response.Body.Len()+1))
			_, _ = w.Write(response.Body.Bytes())
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) { // to itself, where the keys are
			if r.URL.RawQuery == "" {
				http.Redirect(w, r, r.URL.Path+"?again", http.StatusFound)
				return
			}
			good.ServeHTTP(w, r)
		},
	}
}

// gzipBomb returns a handler that sends the right keys after 64 MB of spaces, compressed
// to 64 KB.
func gzipBomb(t testing.TB, good http.Handler) http.HandlerFunc {
	t.Helper()
	response := httptest.NewRecorder()
	good.ServeHTTP(response, httptest.NewRequest(http.MethodGet, devissuer.JWKSPath, http.NoBody))
	var bomb bytes.Buffer
	packed := gzip.NewWriter(&bomb)
	_, err := packed.Write(append(bytes.Repeat([]byte(" "), 64<<20), response.Body.Bytes()...))
	if err := errors.Join(err, packed.Close()); err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	}
}

// All services wait for their keys at the same time, because each asks the issuer at
// most once in ten seconds.
func TestKeys_ServiceIsNotReadyWithoutThemAndRecovers(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	ready, env := e2e.Get("", "/health/ready"), e2e.NewEnv(t)
	services := map[string]*e2e.Service{}
	for name, outage := range outages(t, env, done) {
		keys := newKeyServer(t, env, outage)
		s := env.StartReplica(t)
		for _, c := range []e2e.Call{ready, balanceCall(honest(env).token(t))} {
			r := s.WantProblem(t, http.StatusServiceUnavailable, "unavailable", c)
			if r.Header.Get("Retry-After") == "" {
				t.Errorf("%s, %s: no Retry-After", name, c.Path)
			}
		}
		s.MustSend(t, e2e.Get("", "/health/live"))
		s.WantProblem(t, http.StatusUnauthorized, "unauthenticated", balanceCall(""))
		keys.publish(func(rw http.ResponseWriter, r *http.Request) {
			time.Sleep(200 * time.Millisecond) // as far away as an issuer may be
			env.Issuer.Handler().ServeHTTP(rw, r)
		})
		services[name] = s
	}
	for name, s := range services {
		e2e.Eventually(t, "ready after the issuer "+name, func() bool { return s.Send(t, ready).Status == http.StatusOK })
		s.MustSend(t, balanceCall(honest(env).token(t)))
	}
}

// When an issuer fails later, the keys that are known stay. A set without a usable key is
// a failure, too: an issuer that signs tokens has one.
func TestKeys_SurviveOutageOfIssuer(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	env := e2e.NewEnv(t)
	for name, outage := range outages(t, env, done) {
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
			s.MustSend(t, balanceCall(honest(env).token(t))) // its key is known
			s.MustSend(t, e2e.Get("", "/health/ready"))
		})
	}
}

// startThief starts a server that publishes the key of a thief.
func startThief(t testing.TB) (thiefURL string, key signer, keys *keyServer) {
	t.Helper()
	var env e2e.Env
	key = signer{"thief", jwt.SigningMethodES256, signingKey(t)}
	keys = newKeyServer(t, &env, keySet(t, key.jwk(t)))
	return strings.TrimSuffix(env.JWKSURL, devissuer.JWKSPath), key, keys
}

// An open redirect at the issuer must not be enough to sign tokens of administrators.
func TestKeys_AreNotFetchedFromWhereTheIssuerRedirects(t *testing.T) {
	t.Parallel()
	thief, key, thiefKeys := startThief(t)
	env := e2e.NewEnv(t)
	keys := newKeyServer(t, env, env.Issuer.Handler().ServeHTTP)
	audit := func(f forge) e2e.Call {
		return e2e.Get(f.with("roles", []string{"admin"}).token(t), "/admin/audit-log")
	}
	for place, location := range map[string]string{
		"another port": thief, "another host": strings.Replace(thief, "127.0.0.1", "localhost", 1),
	} {
		for _, status := range []int{http.StatusFound, http.StatusPermanentRedirect} {
			redirect := func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, location+r.URL.Path, status)
			}
			t.Run(fmt.Sprint(place, " ", status), func(t *testing.T) { // later, and from the beginning
				keys.publish(env.Issuer.Handler().ServeHTTP)
				s := env.StartReplica(t)
				keys.publish(redirect)
				before := keys.requests.Load()
				s.WantProblem(t, http.StatusUnauthorized, "unauthenticated", audit(honest(env).by(key)))
				if keys.requests.Load() == before {
					t.Fatal("the issuer was not asked: this proves nothing")
				}
				s.MustSend(t, audit(honest(env)))
				fresh := env.StartReplica(t)
				fresh.WantProblem(t, http.StatusServiceUnavailable, "unavailable", audit(honest(env).by(key)))
			})
		}
	}
	if n := thiefKeys.requests.Load(); n != 0 {
		t.Errorf("the thief was asked %d times", n)
	}
}
