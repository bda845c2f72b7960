package auth_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	contracttest "example.com/orders/internal/test/contract"
	"example.com/orders/internal/test/e2e"
)

// servedRoutes returns the routes of the running service as "METHOD /pattern".
func servedRoutes(t testing.TB, s *e2e.Service) []string {
	t.Helper()
	router, ok := s.App.Handler().(chi.Routes)
	if !ok {
		t.Fatalf("the handler is a %T, whose routes cannot be listed", s.App.Handler())
	}
	var routes []string
	note := func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routes = append(routes, method+" "+pattern)
		return nil
	}
	if err := chi.Walk(router, note); err != nil {
		t.Fatal(err)
	}
	return routes
}

// routeOf returns the route of an operation as "METHOD /pattern".
func routeOf(op contracttest.Operation) string { return op.Method + " " + op.Path }

// callOfNothing is a call of an operation that names no resource and has no body: it
// passes the checks of token, role and key, and changes nothing.
func callOfNothing(op contracttest.Operation) e2e.Call {
	path := strings.NewReplacer(
		"{order_id}", "999999999", "{payment_id}", "999999999", "{refund_id}", "999999999", "{customer_id}", "nobody", "{sku}", "no-such-sku", "{key}", "no-such-key",
		"{asset}", "swagger-ui.css",
	).Replace(op.Path)
	return e2e.Call{Method: op.Method, Path: path}
}

func TestContract_EveryOperationIsServed(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	served := servedRoutes(t, s)
	for _, op := range s.Contract.Operations() {
		if !slices.Contains(served, routeOf(op)) {
			t.Errorf("%s (%s) is not served", op.ID, routeOf(op))
		}
	}
}

func TestContract_HasEveryServedRoute(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	var known []string
	for _, op := range s.Contract.Operations() {
		known = append(known, routeOf(op))
	}
	for _, route := range servedRoutes(t, s) {
		if !slices.Contains(known, route) {
			t.Errorf("%s is served, and the contract has no such operation", route)
		}
	}
}

func TestContract_SaysWhichOperationsRequireKey(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, op := range s.Contract.Operations() {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			call := callOfNothing(op)
			if len(op.Roles) > 0 {
				call.Token = s.Token(t, "somebody", op.Roles[0])
			}
			r := s.Send(t, call)
			if required := r.Code() == "idempotency_key_required"; required != op.Idempotent {
				t.Errorf("without a key: %d %q, and the contract requires one: %t", r.Status, r.Code(), op.Idempotent)
			}
			call.Key = s.NewKey()
			r = s.Send(t, call)
			if r.Code() == "idempotency_key_required" {
				t.Errorf("with a key: %d %s", r.Status, r.Body)
			}
			if echoed := r.Header.Get("Idempotency-Key") == call.Key; echoed != op.Idempotent {
				t.Errorf("the response echoes the key: %t, and the contract requires one: %t", echoed, op.Idempotent)
			}
		})
	}
}
