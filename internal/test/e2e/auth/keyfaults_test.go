package auth_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
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

// outages are the ways in which an issuer fails. None of them has a usable key.
func outages(t testing.TB, env *e2e.Env, done <-chan struct{}) map[string]http.HandlerFunc {
	t.Helper()
	good := env.Issuer.Handler()
	all := map[string]http.HandlerFunc{
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"fails": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			good.ServeHTTP(w, r)
		},
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"slow": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-done:
			case <-r.Context().Done():
			}
		},
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
	maps.Copy(all, unusableSets(t))
	return all
}

// unusableSets are responses with status 200 and no usable key.
func unusableSets(t testing.TB) map[string]http.HandlerFunc {
	t.Helper()
	key := publicJWK(t, signingKey(t).Public(), "key", "ES256", "sig")
	malformed, enc := key, key
	malformed.X, enc.USE = "!", jwkset.UseEnc
	many := make([]jwkset.JWKMarshal, 101)
	for i := range many {
		many[i] = key
		many[i].KID = fmt.Sprint(i)
	}
	sets := map[string]http.HandlerFunc{
		"malformed key": keySet(t, malformed), "key for encryption": keySet(t, enc), "too many keys": keySet(t, many...),
	}
	for name, body := range map[string]string{
		"HTML": "<html>maintenance</html>", "no keys": `{"keys": []}`, "empty object": `{}`, "null": `null`, "nothing": "",
	} {
		sets[name] = func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) }
	}
	return sets
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
	if err == nil {
		err = packed.Close()
	}
	if err != nil {
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
	ready := e2e.Call{Method: "GET", Path: "/health/ready"}
	services := map[string]*e2e.Service{}
	env := e2e.NewEnv(t)
	for name, outage := range outages(t, env, done) {
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
			if r := s.Send(t, balanceCall(honest(env).token(t))); r.Status != http.StatusOK {
				t.Errorf("a known key: status %d: %s", r.Status, r.Body)
			}
			if r := s.Send(t, e2e.Call{Method: "GET", Path: "/health/ready"}); r.Status != http.StatusOK {
				t.Errorf("readiness: status %d: %s", r.Status, r.Body)
			}
		})
	}
}

// startThief starts a server that publishes the key of a thief, and counts who asks.
func startThief(t testing.TB) (thiefURL string, key signer, asked *atomic.Int64) {
	t.Helper()
	key, asked = signer{"thief", jwt.SigningMethodES256, signingKey(t)}, &atomic.Int64{}
	keys := keySet(t, key.jwk(t))
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		keys(w, r)
	}))
	t.Cleanup(thief.Close)
	return thief.URL, key, asked
}

// An open redirect at the issuer must not be enough to sign tokens of administrators.
func TestKeys_AreNotFetchedFromWhereTheIssuerRedirects(t *testing.T) {
	t.Parallel()
	thief, key, asked := startThief(t)
	env := e2e.NewEnv(t)
	keys := newKeyServer(t, env, env.Issuer.Handler().ServeHTTP)
	audit := func(f forge) e2e.Call {
		return e2e.Get(f.with("roles", []string{"admin"}).token(t), "/admin/audit-log")
	}
	for place, location := range map[string]string{
		"another port": thief, "another host": strings.Replace(thief, "127.0.0.1", "localhost", 1),
	} {
		for _, status := range []int{301, 302, 303, 307, 308} {
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
				if r := s.Send(t, audit(honest(env))); r.Status != http.StatusOK {
					t.Errorf("an honest token: status %d: %s", r.Status, r.Body)
				}
				fresh := env.StartReplica(t)
				fresh.WantProblem(t, http.StatusServiceUnavailable, "unavailable", audit(honest(env).by(key)))
			})
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the thief was asked %d times", n)
	}
}

// The issuer's other keys must not suffer from one that cannot be read, and the media type
// is no reason to refuse good keys.
func TestKeys_AreUsedBesideUnusableOnesAndWithAnyMediaType(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	ec := signer{"main", jwt.SigningMethodES256, signingKey(t)}
	malformed := ec.jwk(t)
	malformed.KID, malformed.Y = "malformed", "!"
	set := keySet(t, malformed, jwkset.JWKMarshal{KTY: "LWE", KID: "of the future"}, ec.jwk(t))
	newKeyServer(t, env, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		set(w, r)
	})
	s := env.StartReplica(t)
	if r := s.Send(t, balanceCall(honest(env).by(ec).token(t))); r.Status != http.StatusOK {
		t.Errorf("status %d: %s", r.Status, r.Body)
	}
	checkUnauthenticated(t, s, balanceCall(honest(env).by(ec).withHeader("kid", "malformed").token(t)))
}

// Of two keys with one kid, the first one counts.
func TestKeys_OfOneKidAreNotMixed(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	first, second := signer{"main", jwt.SigningMethodES256, signingKey(t)}, signer{"main", jwt.SigningMethodES256, signingKey(t)}
	newKeyServer(t, env, keySet(t, first.jwk(t), second.jwk(t)))
	s := env.StartReplica(t)
	if r := s.Send(t, balanceCall(honest(env).by(first).token(t))); r.Status != http.StatusOK {
		t.Errorf("the first one: status %d: %s", r.Status, r.Body)
	}
	checkUnauthenticated(t, s, balanceCall(honest(env).by(second).token(t)))
}
