package httpapi

import (
	"slices"
	"strings"
	"testing"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/contract"
	"example.com/orders/internal/core"
)

func TestCheckRoutes_AcceptsTheContract(t *testing.T) {
	t.Parallel()
	a := &api{}
	if err := checkRoutes(embeddedContract(t), a.routes(), a.publicRoutes()); err != nil {
		t.Error(err)
	}
	for _, rt := range a.routes() {
		if rt.handle == nil {
			t.Errorf("%s has no handler", rt.operation)
		}
	}
}

// Each case changes one thing of the routes.
func TestCheckRoutes_RefusesOtherRoutes(t *testing.T) {
	t.Parallel()
	for _, c := range map[string]struct {
		change func(routes map[string]*route)
		want   string
	}{
		"no roles": {func(r map[string]*route) { r["createOrder"].roles = nil }, "POST /orders declares no roles"},
		"one role more": {func(r map[string]*route) { r["listAuditLog"].roles = []core.Role{admins, sellers} },
			"GET /admin/audit-log (listAuditLog): roles admin seller, no key"},
		"one role less": {func(r map[string]*route) { r["cancelOrder"].roles = []core.Role{customers, sellers} },
			"POST /orders/{order_id}/cancel (cancelOrder): roles customer seller, key required"},
		"no key required": {func(r map[string]*route) { r["confirmPayment"].repeat = repeatable },
			"POST /orders/{order_id}/payment/confirm (confirmPayment): roles customer, no key"},
		"key required": {func(r map[string]*route) { r["getBalance"].repeat = guarded },
			"GET /customers/{customer_id}/balance (getBalance): roles admin customer system, key required"},
		"other method": {func(r map[string]*route) { r["putProduct"].method = "POST" }, "POST /products/{sku} (putProduct)"},
		"other path":   {func(r map[string]*route) { r["putProduct"].pattern = "/goods/{sku}" }, "PUT /goods/{sku} (putProduct)"},
		"other operation": {func(r map[string]*route) { r["chargeBalance"].operation = "creditBalance" },
			"POST /customers/{customer_id}/balance/charge (creditBalance)"},
	} {
		a := &api{}
		routes, byOperation := a.routes(), map[string]*route{}
		for i := range routes {
			byOperation[routes[i].operation] = &routes[i]
		}
		c.change(byOperation)
		wantError(t, checkRoutes(embeddedContract(t), routes, a.publicRoutes()), c.want)
	}
}

func TestCheckRoutes_RefusesRoutesThatAreUnknownOrMissing(t *testing.T) {
	t.Parallel()
	a := &api{}
	secrets := route{method: "GET", pattern: "/secrets", operation: "getSecrets", roles: []core.Role{admins}}
	wantError(t, checkRoutes(embeddedContract(t), append(a.routes(), secrets), a.publicRoutes()),
		"GET /secrets (getSecrets): roles admin, no key")
	open := publicRoute{method: "GET", pattern: "/secrets", operation: "getSecrets"}
	wantError(t, checkRoutes(embeddedContract(t), a.routes(), append(a.publicRoutes(), open)),
		"GET /secrets (getSecrets): public, no key")

	withoutOrders := slices.DeleteFunc(a.routes(), func(rt route) bool { return rt.operation == "listOrders" })
	wantError(t, checkRoutes(embeddedContract(t), withoutOrders, a.publicRoutes()),
		"GET /orders (listOrders): roles admin customer seller, no key")
	wantError(t, checkRoutes(embeddedContract(t), a.routes(), nil), "GET /health/live (getLiveness): public, no key")
}

// A route with a token must not pass for a public operation, nor the other way round.
func TestCheckRoutes_RefusesPublicRouteOfProtectedOperation(t *testing.T) {
	t.Parallel()
	a := &api{}
	routes := slices.DeleteFunc(a.routes(), func(rt route) bool { return rt.operation == "listProducts" })
	public := append(a.publicRoutes(), publicRoute{method: "GET", pattern: "/products", operation: "listProducts"})
	wantError(t, checkRoutes(embeddedContract(t), routes, public), "GET /products (listProducts): public, no key")
}

// Each case changes one thing of the contract.
func TestNew_RefusesOtherContract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, replacement, want string }{
		"operation without a route": {
			"  /orders:\n", "  /secrets:\n    trace:\n      operationId: getSecrets\n      x-roles: [admin]\n  /orders:\n",
			"TRACE /secrets (getSecrets): roles admin, no key",
		},
		"operation without roles": {"      x-roles: [seller, admin]\n", "", "(updateOrderStatus): roles , no key"},
		"unknown role":            {"x-roles: [customer, seller]\n", "x-roles: [customer, seller, root]\n", "(createOrder): roles customer root seller"},
		"key required by the path": {
			"  /admin/audit-log:\n", "  /admin/audit-log:\n    parameters:\n      - {name: idempotency-key, in: header}\n",
			"(listAuditLog): roles admin, key required",
		},
		"no key required": {
			"      parameters:\n        - $ref: '#/components/parameters/KeyHeader'\n", "",
			"(createOrder): roles customer seller, no key",
		},
		"nothing said about a key": {
			"      x-idempotency: {kept: 72h, refusals_kept: 6h, scope: principal, other_request: 409}\n", "",
			"(createOrder): roles customer seller, key required, x-idempotency contradicts it",
		},
		"token required": {"      security: []\n", "", "(takeStripeWebhook): roles , no key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := string(openapi.OpenAPI)
			if !strings.Contains(file, c.old) {
				t.Fatalf("%q is not in the contract", c.old)
			}
			changed, err := contract.Parse([]byte(strings.Replace(file, c.old, c.replacement, 1)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = newHandler(Config{}, changed)
			wantError(t, err, c.want)
		})
	}
}

// wantError checks that err says a text.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want an error that says %q", err, text)
	}
}
