package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// route is one operation of the contract: where it is, who may call it (AUTH-2,
// AUTH-9), and whether it needs an Idempotency-Key (AUTH-19).
type route struct {
	method    string
	pattern   string
	operation string
	guard     bool
	roles     []core.Role
	handle    handler
}

const (
	customer = core.Customer
	seller   = core.Seller
	admin    = core.Admin
	system   = core.System

	guarded = true
	plain   = false
)

// routes is every operation that needs a token. Money and reservations are guarded.
func (a *api) routes() []route {
	roles := func(r ...core.Role) []core.Role { return r }
	return []route{
		{"POST", "/orders", "createOrder", guarded, roles(customer, seller), handle(decodeCreateOrder, a.createOrder)},
		{"GET", "/orders", "listOrders", plain, roles(customer, seller, admin), handle(decodeOrderList, a.listOrders)},
		{"GET", "/orders/{order_id}", "getOrderById", plain, roles(customer, seller, admin), handle(decodeOrderID, a.getOrderByID)},
		{"POST", "/orders/{order_id}/reservation", "reserveInventory", guarded, roles(customer, seller, system), handle(decodeReserveInventory, a.reserveInventory)},
		{"POST", "/orders/{order_id}/payment/confirm", "confirmPayment", guarded, roles(customer), handle(decodeConfirmPayment, a.confirmPayment)},
		{"POST", "/orders/{order_id}/payment/refund", "refundPayment", guarded, roles(customer, admin), handle(decodeRefundPayment, a.refundPayment)},
		{"GET", "/orders/{order_id}/payments", "listPayments", plain, roles(customer, seller, admin), handle(decodeOrderID, a.listPayments)},
		{"POST", "/orders/{order_id}/cancel", "cancelOrder", guarded, roles(customer, seller, admin), handle(decodeCancelOrder, a.cancelOrder)},
		{"PATCH", "/orders/{order_id}/status", "updateOrderStatus", plain, roles(seller, admin), handle(decodeUpdateOrderStatus, a.updateOrderStatus)},

		{"POST", "/customers/{customer_id}/balance/charge", "chargeBalance", guarded, roles(system, admin), handle(decodeChangeBalance, a.chargeBalance)},
		{"POST", "/customers/{customer_id}/balance/credit", "creditBalance", guarded, roles(system, admin), handle(decodeChangeBalance, a.creditBalance)},
		{"GET", "/customers/{customer_id}/balance", "getBalance", plain, roles(customer, system, admin), handle(decodeCustomerID, a.getBalance)},
		{"GET", "/customers/{customer_id}/balance/transactions", "listBalanceTransactions", plain, roles(customer, system, admin), handle(decodeTransactionList, a.listBalanceTransactions)},
		{"GET", "/customers/{customer_id}/profile", "getCustomerProfile", plain, roles(customer, admin), handle(decodeCustomerID, a.getCustomerProfile)},
		{"PUT", "/customers/{customer_id}/profile", "updateCustomerProfile", plain, roles(customer, admin), handle(decodeProfile, a.updateCustomerProfile)},

		{"PUT", "/products/{sku}", "putProduct", plain, roles(seller, admin), handle(decodePutProduct, a.putProduct)},
		{"GET", "/products/{sku}", "getProduct", plain, roles(customer, seller, admin, system), handle(decodeSKU, a.getProduct)},
		{"GET", "/products", "listProducts", plain, roles(customer, seller, admin, system), handle(decodePage, a.listProducts)},

		{"GET", "/idempotency-keys/{key}", "getIdempotencyKey", plain, roles(customer, seller, admin, system), handle(decodeKeyID, a.getIdempotencyKey)},
		{"GET", "/admin/audit-log", "listAuditLog", plain, roles(admin), handle(decodePage, a.listAuditLog)},
	}
}

// router serves the routes and what needs no token. A route without roles does not
// start (AUTH-9).
func (a *api) router(routes []route) (http.Handler, error) {
	r := chi.NewRouter()
	r.Use(a.log.request, a.recoverPanic)
	r.NotFound(a.notFound)
	r.MethodNotAllowed(a.methodNotAllowed(r))
	for _, rt := range routes {
		if len(rt.roles) == 0 {
			return nil, fmt.Errorf("%s %s lets no role in (AUTH-9)", rt.method, rt.pattern)
		}
		r.Method(rt.method, rt.pattern, a.endpoint(rt))
	}
	r.Post("/webhooks/stripe", a.stripeWebhook)
	r.Get("/health/live", a.live)
	r.Get("/health/ready", a.ready)
	return r, a.serveDocs(r)
}

func (a *api) notFound(w http.ResponseWriter, r *http.Request) {
	a.refuse(w, r, newProblem(wire.ProblemCodeNotFound, "there is no such path"))
}

// methodNotAllowed names the methods that a path has (RFC 9110, section 15.5.6).
func (a *api) methodNotAllowed(routes chi.Routes) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if routes.Match(chi.NewRouteContext(), method, r.URL.Path) {
				w.Header().Add("Allow", method)
			}
		}
		a.refuse(w, r, newProblem(wire.ProblemCodeMethodNotAllowed, "the path has no such method"))
	}
}

// allows tells whether one of the actor's roles opens the route.
func (rt route) allows(actor core.Actor) bool {
	return slices.ContainsFunc(rt.roles, func(role core.Role) bool { return actor.Has(role) })
}
