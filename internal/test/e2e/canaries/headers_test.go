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

// notations are ways to write a card number that differ from those of the canaries. The
// unit test of the adapter has all.
var notations = []string{"4242424242424242", "4242-4242-4242-4242", "4242.4242.4242.4242", "4242%204242%204242%204242"}

func TestCardNumber_IsRefusedAsKeyAndNotRepeated(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, id := range e2e.GuardedRoutes() {
		c := s.Prepare(t, id)
		for _, number := range notations {
			r := s.WantProblem(t, http.StatusBadRequest, "idempotency_key_invalid", c.WithKey(number))
			if r.Header.Get("Idempotency-Key") != "" || strings.Contains(string(r.Body), number) {
				t.Errorf("%s: the key is repeated: %v %s", id, r.Header, r.Body)
			}
		}
		c.WantKeyFree(t, s.NewKey())
	}
}

func TestCardNumber_IsRefusedAsID(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	const number = "4242424242424242"
	admin := s.AdminToken(t)
	for _, c := range []e2e.Call{
		{Method: "PUT", Path: "/products/" + number, Token: s.SellerToken(t), Body: `{"name": "tea", "price": {"amount": "1.00", "currency": "RUB"}, "on_hand": 1}`},
		e2e.Get(admin, "/products/4242-4242-4242-4242"),
		e2e.Get(admin, "/products?cursor="+number),
		e2e.Get(admin, "/orders?reference=4242%204242%204242%204242"),
	} {
		r := s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", c)
		if len(r.Pointers()) != 1 || strings.Contains(string(r.Body), "4242") {
			t.Errorf("%s: %s", c.Path, r.Body)
		}
	}
	for path, want := range map[string]string{
		"/orders/" + number: "404 not_found", "/" + number: "404 not_found", "/idempotency-keys/" + number: "400 idempotency_key_invalid",
	} {
		if r := s.Send(t, e2e.Get(admin, path)); r.Verdict() != want || strings.Contains(string(r.Body), "4242") {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	if n := s.Count(t, `SELECT count(*) FROM audit_log WHERE resource LIKE '%4242%' OR metadata::text LIKE '%4242%'`); n > 0 {
		t.Errorf("the audit log has the number %d times", n)
	}
}

// An issuer that numbers its subjects makes some that look like card numbers.
func TestSubject_MayLookLikeACardNumber(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 5})
	for _, subject := range []string{"4111111111111111", "user-4111111111111111"} {
		s.Credit(t, subject, "500.00")
		o := s.MustCreateOrder(t, subject, "tea", 1)
		e2e.Want[e2e.Payment](t, s, http.StatusOK, s.ConfirmCall(t, subject, o.ID))
		s.WantBalance(t, subject, "400.00")
		s.MustSend(t, e2e.Get(s.AdminToken(t), "/orders?customer_id="+subject))
	}
}
