package auth_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
)

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
	if n := asked.Load(); n != 0 {
		t.Errorf("the thief was asked %d times", n)
	}
}
