package httpapi

import (
	"net/http"
	"slices"

	"example.com/orders/internal/core"
)

const (
	customers = core.Customer
	sellers   = core.Seller
	admins    = core.Admin
	systems   = core.System
)

// roles lists the roles that may use an operation.
func roles(r ...core.Role) []core.Role { return r }

// routes returns every operation that needs a token. Money, reservations and stock
// adjustments are guarded.
func (a *api) routes() []route {
	return slices.Concat(a.orderRoutes(), a.customerRoutes(), a.productRoutes(), a.webhookRoutes(), []route{
		{"GET", "/idempotency-keys/{key}",
			"getIdempotencyKey", repeatable, roles(customers, sellers, admins, systems),
			handle(decodeKeyID, a.getIdempotencyKey)},
		{"GET", "/admin/audit-log",
			"listAuditLog", repeatable, roles(admins),
			listAll(a.Audit.ListAuditLog, auditOut)},
	})
}

func (a *api) orderRoutes() []route {
	return []route{
		{"POST", "/orders",
			"createOrder", guarded, roles(customers, sellers),
			command(decodeCreateOrder, a.Orders.CreateOrder, showNewOrder)},
		{"GET", "/orders",
			"listOrders", repeatable, roles(customers, sellers, admins),
			list(decodeOrderFilter, a.Orders.ListOrders, orderOut)},
		{"GET", "/orders/{order_id}",
			"getOrderById", repeatable, roles(customers, sellers, admins),
			query(decodeOrderID, a.Orders.GetOrderByID, showOrder)},
		{"POST", "/orders/{order_id}/reservation",
			"reserveInventory", guarded, roles(customers, sellers, systems),
			command(decodeReserveInventory, a.Orders.ReserveInventory, showOrder)},
		{"POST", "/orders/{order_id}/payment/confirm",
			"confirmPayment", guarded, roles(customers),
			command(decodeConfirmPayment, a.Payments.ConfirmPayment, showPayment)},
		{"POST", "/orders/{order_id}/payment/refund",
			"refundPayment", guarded, roles(customers, admins),
			command(decodeRefundPayment, a.Payments.RefundPayment, showRefund)},
		{"GET", "/orders/{order_id}/payments",
			"listPayments", repeatable, roles(customers, sellers, admins),
			query(decodeOrderID, a.Payments.ListPayments, showPayments)},
		{"GET", "/payments",
			"searchPayments", repeatable, roles(admins),
			list(decodePaymentSearch, a.Payments.SearchPayments, paymentWithRefundsOut)},
		{"GET", "/payments/{payment_id}",
			"getPayment", repeatable, roles(customers, sellers, admins),
			query(decodePaymentID, a.Payments.GetPayment, showPayment)},
		{"GET", "/refunds/{refund_id}",
			"getRefund", repeatable, roles(customers, sellers, admins),
			query(decodeRefundID, a.Payments.GetRefund, showRefund)},
		{"POST", "/orders/{order_id}/cancel",
			"cancelOrder", guarded, roles(customers, sellers, admins),
			command(decodeCancelOrder, a.Payments.CancelOrder, showOrder)},
		{"PATCH", "/orders/{order_id}/status",
			"updateOrderStatus", unrepeatable, roles(sellers, admins),
			query(decodeUpdateOrderStatus, a.Orders.UpdateOrderStatus, showOrder)},
	}
}

func (a *api) customerRoutes() []route {
	return []route{
		{"POST", "/customers/{customer_id}/balance/charge",
			"chargeBalance", guarded, roles(systems, admins),
			command(decodeChangeBalance, a.Payments.ChargeBalance, showBalanceTransaction)},
		{"POST", "/customers/{customer_id}/balance/credit",
			"creditBalance", guarded, roles(systems, admins),
			command(decodeChangeBalance, a.Payments.CreditBalance, showBalanceTransaction)},
		{"GET", "/customers/{customer_id}/balance",
			"getBalance", repeatable, roles(customers, systems, admins),
			handle(decodeCustomerID, a.getBalance)},
		{"GET", "/customers/{customer_id}/balance/transactions",
			"listBalanceTransactions", repeatable, roles(customers, systems, admins),
			list(decodeTransactionFilter, a.Payments.ListBalanceTransactions, balanceTransactionOut)},
		{"GET", "/customers/{customer_id}/profile",
			"getCustomerProfile", repeatable, roles(customers, admins),
			query(decodeCustomerID, a.Customers.GetCustomerProfile, showProfile)},
		{"PUT", "/customers/{customer_id}/profile",
			"updateCustomerProfile", repeatable, roles(customers, admins),
			query(decodeProfile, a.Customers.UpdateCustomerProfile, showProfile)},
		{"DELETE", "/customers/{customer_id}/profile",
			"deleteCustomerProfile", repeatable, roles(customers, admins),
			remove(decodeCustomerID, a.Customers.DeleteCustomerProfile)},
	}
}

func (a *api) productRoutes() []route {
	return []route{
		{"PUT", "/products/{sku}",
			"putProduct", unrepeatable, roles(sellers, admins),
			handle(decodePutProduct, a.putProduct)},
		{"POST", "/products/{sku}/stock",
			"adjustStock", guarded, roles(sellers, admins),
			command(decodeAdjustStock, a.Orders.AdjustStock, showStockAdjustment)},
		{"GET", "/products/{sku}",
			"getProduct", repeatable, roles(customers, sellers, admins, systems),
			handle(decodeSKU, a.getProduct)},
		{"GET", "/products",
			"listProducts", repeatable, roles(customers, sellers, admins, systems),
			listAll(a.listProducts, productOut)},
	}
}

func (a *api) webhookRoutes() []route {
	return []route{
		{"POST", "/webhook-endpoints",
			"createWebhookEndpoint", unrepeatable, roles(sellers, admins),
			query(decodeCreateEndpoint, a.WebhookEndpoints.CreateEndpoint, showNewEndpoint)},
		{"GET", "/webhook-endpoints",
			"listWebhookEndpoints", repeatable, roles(sellers, admins),
			listAll(a.WebhookEndpoints.ListEndpoints, endpointOut)},
		{"GET", "/webhook-endpoints/{endpoint_id}",
			"getWebhookEndpoint", repeatable, roles(sellers, admins),
			query(decodeEndpointID, a.WebhookEndpoints.GetEndpoint, showEndpoint)},
		{"PATCH", "/webhook-endpoints/{endpoint_id}",
			"updateWebhookEndpoint", repeatable, roles(sellers, admins),
			query(decodeUpdateEndpoint, a.WebhookEndpoints.UpdateEndpoint, showEndpoint)},
		{"DELETE", "/webhook-endpoints/{endpoint_id}",
			"deleteWebhookEndpoint", repeatable, roles(sellers, admins),
			remove(decodeEndpointID, a.WebhookEndpoints.DeleteEndpoint)},
		{"POST", "/webhook-endpoints/{endpoint_id}/rotate-secret",
			"rotateWebhookSecret", unrepeatable, roles(sellers, admins),
			query(decodeEndpointID, a.WebhookEndpoints.RotateSecret, showSecret)},
		{"POST", "/webhook-endpoints/{endpoint_id}/test",
			"testWebhookEndpoint", unrepeatable, roles(sellers, admins),
			query(decodeEndpointID, a.WebhookEndpoints.TestEndpoint, showNewDelivery)},
		{"GET", "/webhook-endpoints/{endpoint_id}/deliveries",
			"listWebhookDeliveries", repeatable, roles(sellers, admins),
			list(decodeDeliveryFilter, a.WebhookEndpoints.ListDeliveries, deliveryOut)},
		{"POST", "/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/retry",
			"retryWebhookDelivery", unrepeatable, roles(sellers, admins),
			query(decodeRetryDelivery, a.WebhookEndpoints.RetryDelivery, showDelivery)},
	}
}

// publicRoutes returns every operation that needs no token.
func (a *api) publicRoutes() []publicRoute {
	return []publicRoute{
		{"POST", "/webhooks/stripe", "takeStripeWebhook", a.takeStripeWebhook},
		{"GET", "/health/live", "getLiveness", a.getLiveness},
		{"GET", "/health/ready", "getReadiness", a.getReadiness},
		{"GET", "/openapi.yaml", "getOpenAPI", a.getDocs},
		{"GET", "/docs", "getDocs", a.getDocs},
		{"GET", "/docs/{asset}", "getDocsAsset", a.getDocs},
	}
}

// methodsOf returns the methods of the routes, and HEAD.
func methodsOf(routes []route) []string {
	methods := []string{http.MethodHead}
	for _, rt := range routes {
		if !slices.Contains(methods, rt.method) {
			methods = append(methods, rt.method)
		}
	}
	return methods
}
