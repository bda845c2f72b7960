package canaries_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// cached are the operations whose responses are the same for everybody.
var cached = map[string]string{
	"getOpenAPI": "no-cache", "getDocs": "no-cache", "getDocsAsset": "public, max-age=3600",
}

// wantSecure checks the security headers of a response.
func wantSecure(t *testing.T, what string, r e2e.Reply, caching string) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": caching,
		"Server": "", "X-Powered-By": "",
	} {
		if got := strings.Join(r.Header.Values(name), " | "); got != want {
			t.Errorf("%s: status %d: %s is %q, want %q", what, r.Status, name, got, want)
		}
	}
	policy := r.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none';") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("%s: status %d: the policy is %q", what, r.Status, policy)
	}
}

func TestHeaders_ProtectEveryResponse(t *testing.T) {
	t.Parallel()
	p := &planter{Service: e2e.Start(t), nest: &nest{}}
	for id, op := range p.operations() {
		call := p.prepared(t, id).WithKey(p.NewKey())
		caching := "no-store"
		if cached[id] != "" {
			caching = cached[id]
		}
		first := p.Send(t, call)
		wantSecure(t, id, first, caching)
		if replay := p.Send(t, call); replay.Replayed() {
			wantSecure(t, id+", replayed", replay, "no-store")
			if !replay.SameAs(first) || replay.Header.Get("Content-Type") != first.Header.Get("Content-Type") {
				t.Errorf("%s: the replay differs: %s", id, replay.Body)
			}
		}
		if op.Security == nil { // a token is required
			wantSecure(t, id+" without a token", p.Send(t, call.WithToken("")), "no-store")
			wantSecure(t, id+" with a broken body", p.Send(t, call.WithKey(p.NewKey()).WithBody("{")), "no-store")
		}
	}
	wantSecure(t, "an unknown path", p.Send(t, e2e.Get("", "/no/such/path")), "no-store")
	wantSecure(t, "an unknown file", p.Send(t, e2e.Get("", "/docs/nothing.js")), "no-store")
	wantSecure(t, "an unknown method", p.Send(t, e2e.Call{Method: "DELETE", Path: "/openapi.yaml"}), "no-store")
	conditional := e2e.Get("", "/openapi.yaml").WithHeader("If-None-Match", p.Send(t, e2e.Get("", "/openapi.yaml")).Header.Get("ETag"))
	if r := p.Send(t, conditional); r.Status != http.StatusNotModified {
		t.Errorf("status %d, want 304", r.Status)
	} else {
		wantSecure(t, "a contract that has not changed", r, "no-cache")
	}
}
