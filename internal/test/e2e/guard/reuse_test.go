package guard_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

func TestGuard_RefusesAnotherRequestUnderTheKey(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			others := map[string]e2e.Call{}
			if c.OtherBody != "" {
				others["another body"] = e2e.Call{Path: c.Call.Path, Body: c.OtherBody}
			}
			if c.OtherPath != "" {
				others["another path"] = e2e.Call{Path: c.OtherPath, Body: c.Call.Body}
			}
			for name, other := range others {
				t.Run(name, func(t *testing.T) {
					other.Method, other.Token, other.Key = c.Call.Method, c.Call.Token, key
					wantKeyReused(t, c.Service, other)
				})
			}
			c.WantEffects(t, 1)
			c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
		})
	}
}

// No guarded operation has a parameter in its query, so a query is refused before the key
// is looked at: the stored response stays hidden.
func TestGuard_RefusesAQueryUnderTheKey(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			for _, query := range []string{"?dry_run=1", "?x"} {
				call := c.WithKey(key)
				call.Path += query
				r := s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", call)
				if r.Header.Get("Idempotency-Result") != "" {
					t.Errorf("%s reached the guard: %v", query, r.Header)
				}
			}
			c.WantEffects(t, 1)
			c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
		})
	}
}

func TestGuard_RefusesSameItemsInAnotherOrder(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	s.PutProduct(t, "cup", 10)
	create := s.CreateOrderCall(t, e2e.Alice, "tea", 1).
		WithBody(`{"items": [{"sku": "tea", "quantity": 1}, {"sku": "cup", "quantity": 1}]}`)
	e2e.Want[e2e.Order](t, s, http.StatusCreated, create)
	wantKeyReused(t, s, create.WithBody(`{"items": [{"sku": "cup", "quantity": 1}, {"sku": "tea", "quantity": 1}]}`))
}

// wantKeyReused sends a request whose key belongs to another one. The response says so,
// and nothing of the other one: neither its body nor when it expires.
func wantKeyReused(t testing.TB, s *e2e.Service, c e2e.Call) {
	t.Helper()
	r := s.WantProblem(t, http.StatusConflict, "idempotency_key_reused", c)
	var problem map[string]any
	if err := json.Unmarshal(r.Body, &problem); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"title", "detail"} {
		if value, _ := problem[text].(string); value == "" || strings.Contains(value, c.Key) {
			t.Errorf("the %s is missing, or mentions the key: %s", text, r.Body)
		}
		delete(problem, text)
	}
	path, _, _ := strings.Cut(c.Path, "?")
	if diff := cmp.Diff(map[string]any{
		"type":       "https://orders.example.com/problems/idempotency_key_reused",
		"status":     409.0,
		"instance":   path,
		"code":       "idempotency_key_reused",
		"request_id": r.Header.Get("X-Request-Id"),
		"retryable":  false,
		"next_key":   "look_up",
	}, problem); diff != "" {
		t.Errorf("the problem (-want +got): %s", diff)
	}
	for _, name := range []string{"Retry-After", "Location", "Idempotency-Expires", "Idempotency-Result", "Idempotent-Replayed"} {
		if got := r.Header.Get(name); got != "" {
			t.Errorf("%s is %q, want none", name, got)
		}
	}
}

// A key of one command is of no use for another, even where the same principal may send
// both.
func TestGuard_RefusesAnotherCommandUnderTheKey(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			everyRole := c.Token(t, c.Subject, "customer", "seller", "admin", "system")
			for _, route := range e2e.GuardedRoutes() {
				t.Run(route, func(t *testing.T) {
					other := c.Prepare(t, route)
					wantKeyReused(t, c.Service, other.WithKey(key).WithToken(everyRole))
					other.WantEffects(t, 0)
				})
			}
			c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
			c.WantEffects(t, 1)
		})
	}
}

func TestGuard_RefusesOtherMethodsUnderTheKey(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := s.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			for _, method := range []string{"PUT", "PATCH", "DELETE"} {
				call := c.WithKey(key)
				call.Method = method
				c.WantNotGuarded(t, c.WantProblem(t, http.StatusMethodNotAllowed, "method_not_allowed", call))
			}
			c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
			c.WantEffects(t, 1)
		})
	}
}
