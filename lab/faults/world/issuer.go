package world

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// KeyServer serves the token issuer's keys to the replicas.
type KeyServer struct {
	hook  atomic.Pointer[http.HandlerFunc]
	Calls atomic.Int64
}

// startKeyServer starts a server in front of the environment's issuer, and makes the
// replicas use it.
func startKeyServer(t testing.TB, env *e2e.Env) *KeyServer {
	t.Helper()
	issuer, err := url.Parse(env.JWKSURL)
	if err != nil {
		t.Fatal(err)
	}
	keys, path := &KeyServer{}, issuer.Path
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: issuer.Scheme, Host: issuer.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys.Calls.Add(1)
		if hook := keys.hook.Load(); hook != nil {
			(*hook)(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	env.JWKSURL = server.URL + path
	return keys
}

// SetHook lets a hook answer all further calls; nil restores the issuer.
func (k *KeyServer) SetHook(h http.HandlerFunc) {
	if h == nil {
		k.hook.Store(nil)
		return
	}
	k.hook.Store(&h)
}
