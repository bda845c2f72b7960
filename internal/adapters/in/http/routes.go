package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// route is one operation that needs a token: where it is, who may call it (AUTH-2,
// AUTH-9), and whether it needs an Idempotency-Key (AUTH-19). The contract says the
// same; see [checkRoutes].
type route struct {
	method    string
	pattern   string
	operation string
	guarded   bool
	roles     []core.Role
	handle    handler
}

// publicRoute is one operation without a token.
type publicRoute struct {
	method    string
	pattern   string
	operation string
	serve     http.HandlerFunc
}

const (
	customer = core.Customer
	seller   = core.Seller
	admin    = core.Admin
	system   = core.System

	guarded   = true
	unguarded = false
)

// routes returns every operation that needs a token. Money, reservations and adjustments
// of stock are guarded.
func (a *api) routes() []route {
	roles := func(r ...core.Role) []core.Role { return r }
	return []route{
		{"POST", "/orders", "createOrder", guarded, roles(customer, seller), handle(decodeCreateOrder, a.createOrder)},
		{"GET", "/orders", "listOrders", unguarded, roles(customer, seller, admin), handle(decodeOrderList, a.listOrders)},
		{"GET", "/orders/{order_id}", "getOrderById", unguarded, roles(customer, seller, admin), handle(decodeOrderID, a.getOrderByID)},
		{"POST", "/orders/{order_id}/reservation", "reserveInventory", guarded, roles(customer, seller, system), handle(decodeReserveInventory, a.reserveInventory)},
		{"POST", "/orders/{order_id}/payment/confirm", "confirmPayment", guarded, roles(customer), handle(decodeConfirmPayment, a.confirmPayment)},
		{"POST", "/orders/{order_id}/payment/refund", "refundPayment", guarded, roles(customer, admin), handle(decodeRefundPayment, a.refundPayment)},
		{"GET", "/orders/{order_id}/payments", "listPayments", unguarded, roles(customer, seller, admin), handle(decodeOrderID, a.listPayments)},
		{"GET", "/payments/{payment_id}", "getPayment", unguarded, roles(customer, seller, admin), handle(decodePaymentID, a.getPayment)},
		{"GET", "/refunds/{refund_id}", "getRefund", unguarded, roles(customer, seller, admin), handle(decodeRefundID, a.getRefund)},
		{"POST", "/orders/{order_id}/cancel", "cancelOrder", guarded, roles(customer, seller, admin), handle(decodeCancelOrder, a.cancelOrder)},
		{"PATCH", "/orders/{order_id}/status", "updateOrderStatus", unguarded, roles(seller, admin), handle(decodeUpdateOrderStatus, a.updateOrderStatus)},

		{"POST", "/customers/{customer_id}/balance/charge", "chargeBalance", guarded, roles(system, admin), handle(decodeChangeBalance, a.chargeBalance)},
		{"POST", "/customers/{customer_id}/balance/credit", "creditBalance", guarded, roles(system, admin), handle(decodeChangeBalance, a.creditBalance)},
		{"GET", "/customers/{customer_id}/balance", "getBalance", unguarded, roles(customer, system, admin), handle(decodeCustomerID, a.getBalance)},
		{"GET", "/customers/{customer_id}/balance/transactions", "listBalanceTransactions", unguarded, roles(customer, system, admin), handle(decodeTransactionList, a.listBalanceTransactions)},
		{"GET", "/customers/{customer_id}/profile", "getCustomerProfile", unguarded, roles(customer, admin), handle(decodeCustomerID, a.getCustomerProfile)},
		{"PUT", "/customers/{customer_id}/profile", "updateCustomerProfile", unguarded, roles(customer, admin), handle(decodeProfile, a.updateCustomerProfile)},
		{"DELETE", "/customers/{customer_id}/profile", "deleteCustomerProfile", unguarded, roles(customer, admin), handle(decodeCustomerID, a.deleteCustomerProfile)},

		{"PUT", "/products/{sku}", "putProduct", unguarded, roles(seller, admin), handle(decodePutProduct, a.putProduct)},
		{"POST", "/products/{sku}/stock", "adjustStock", guarded, roles(seller, admin), handle(decodeAdjustStock, a.adjustStock)},
		{"GET", "/products/{sku}", "getProduct", unguarded, roles(customer, seller, admin, system), handle(decodeSKU, a.getProduct)},
		{"GET", "/products", "listProducts", unguarded, roles(customer, seller, admin, system), handle(decodePage, a.listProducts)},

		{"GET", "/idempotency-keys/{key}", "getIdempotencyKey", unguarded, roles(customer, seller, admin, system), handle(decodeKeyID, a.getIdempotencyKey)},
		{"GET", "/admin/audit-log", "listAuditLog", unguarded, roles(admin), handle(decodePage, a.listAuditLog)},
	}
}

// publicRoutes returns every operation without a token.
func (a *api) publicRoutes() []publicRoute {
	return []publicRoute{
		{"POST", "/webhooks/stripe", "takeStripeWebhook", a.endpoint(a.takeStripeWebhook)},
		{"GET", "/health/live", "getLiveness", a.endpoint(a.getLiveness)},
		{"GET", "/health/ready", "getReadiness", a.endpoint(a.getReadiness)},
		{"GET", "/openapi.yaml", "getOpenAPI", a.getOpenAPI},
		{"GET", "/docs", "getDocs", a.getDocs},
		{"GET", "/docs/{asset}", "getDocsAsset", a.getDocsAsset},
	}
}

// checkRoutes returns an error unless the routes are those of the contract and each
// route with a token declares its roles.
func checkRoutes(contract *contract, routes []route, public []publicRoute) error {
	var declared []operation
	for _, rt := range routes {
		if len(rt.roles) == 0 {
			return fmt.Errorf("%s %s declares no roles (AUTH-9)", rt.method, rt.pattern)
		}
		declared = append(declared, operation{
			method: rt.method, path: rt.pattern, id: rt.operation, roles: joinRoles(rt.roles), keyRequired: rt.guarded, keyKept: rt.guarded,
		})
	}
	for _, rt := range public {
		declared = append(declared, operation{method: rt.method, path: rt.pattern, id: rt.operation, public: true})
	}
	return checkOperations(contract.operations, declared)
}

// router routes requests to their operations. All other requests get a problem
// document, too.
func (a *api) router(routes []route, public []publicRoute) http.Handler {
	r := chi.NewRouter()
	r.Use(a.log.request, SecureHeaders, allowOrigins(a.CORSOrigins, routes), a.recoverPanic)
	r.NotFound(a.notFound)
	r.MethodNotAllowed(a.methodNotAllowed(r))
	for _, rt := range routes {
		r.Method(rt.method, rt.pattern, named(rt.pattern, a.endpoint(
			func(w http.ResponseWriter, r *http.Request) (*response, error) { return a.serve(rt, w, r) })))
	}
	for _, rt := range public {
		r.Method(rt.method, rt.pattern, named(rt.pattern, rt.serve))
	}
	return r
}

// named puts the pattern of a route into the log.
func named(pattern string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entryOf(r.Context()).pattern = pattern
		next(w, r)
	}
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	a.refuse(w, r, newProblem(wire.ProblemCodeNotFound, "there is no such path"))
}

// methodNotAllowed lists the methods of the path in Allow (RFC 9110, section 15.5.6).
func (a *api) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var pattern string
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if match := chi.NewRouteContext(); routes.Match(match, method, r.URL.Path) {
				w.Header().Add("Allow", method)
				pattern = match.RoutePattern()
			}
		}
		a.refuseAt(w, r, pattern, newProblem(wire.ProblemCodeMethodNotAllowed, "the path does not support this method"))
	}
}

// allows reports whether one of the actor's roles may call the route.
func (rt route) allows(actor core.Actor) bool {
	return slices.ContainsFunc(rt.roles, func(role core.Role) bool { return actor.Has(role) })
}
