package e2e_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	contracttest "example.com/orders/internal/test/contract"
)

// servedRoutes lists the routes of the running service as "METHOD /pattern".
func (s *service) servedRoutes() []string {
	s.Helper()
	router, ok := s.app.Handler().(chi.Routes)
	if !ok {
		s.Fatalf("the handler is a %T, whose routes cannot be listed", s.app.Handler())
	}
	var routes []string
	note := func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routes = append(routes, method+" "+pattern)
		return nil
	}
	if err := chi.Walk(router, note); err != nil {
		s.Fatal(err)
	}
	return routes
}

func routeOf(op contracttest.Operation) string { return op.Method + " " + op.Path }

// somewhere gives a request to an operation that names nothing and has no body: it
// passes the checks of token, role and key, and finds nothing to change.
func somewhere(op contracttest.Operation) call {
	path := strings.NewReplacer(
		"{order_id}", "999999999", "{customer_id}", "nobody", "{sku}", "no-such-sku", "{key}", "no-such-key",
		"{asset}", "swagger-ui.css",
	).Replace(op.Path)
	return call{method: op.Method, path: path}
}

func TestEveryOperationOfTheContractIsServed(t *testing.T) {
	t.Parallel()
	s := newService(t)
	served := s.servedRoutes()
	for _, op := range s.contract.Operations() {
		if !slices.Contains(served, routeOf(op)) {
			t.Errorf("%s (%s) is not served", op.ID, routeOf(op))
		}
	}
}

func TestEveryServedRouteIsInTheContract(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var known []string
	for _, op := range s.contract.Operations() {
		known = append(known, routeOf(op))
	}
	for _, route := range s.servedRoutes() {
		if !slices.Contains(known, route) {
			t.Errorf("%s is served, and the contract has no such operation", route)
		}
	}
}

func TestOperationsAskForAKeyAsTheContractSays(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, op := range s.contract.Operations() {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			s := s.in(t)
			ask := somewhere(op)
			if len(op.Roles) > 0 {
				ask.token = s.token("somebody", op.Roles[0])
			}
			r := s.send(ask)
			if asked := r.code() == "idempotency_key_required"; asked != op.Idempotent {
				t.Errorf("without a key: %d %q, and x-idempotent is %t", r.status, r.code(), op.Idempotent)
			}
			ask.key = s.newKey()
			r = s.send(ask)
			if r.code() == "idempotency_key_required" {
				t.Errorf("with a key: %d %s", r.status, r.body)
			}
			if echoed := r.header.Get("Idempotency-Key") == ask.key; echoed != op.Idempotent {
				t.Errorf("the key comes back: %t, and x-idempotent is %t", echoed, op.Idempotent)
			}
		})
	}
}
