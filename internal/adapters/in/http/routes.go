package httpapi

import (
	"example.com/orders/internal/core"
)

const (
	customer = core.Customer
	seller   = core.Seller
	admin    = core.Admin
	system   = core.System
)

// routes returns every operation that needs a token. Money, reservations and adjustments
// of stock are guarded.
func (a *api) routes() []route {
	roles := func(r ...core.Role) []core.Role { return r }
	return []route{
		{"POST", "/orders", "createOrder", guarded, roles(customer, seller), handle(decodeCreateOrder, a.createOrder)},
		{"GET", "/orders", "listOrders", repeatable, roles(customer, seller, admin), handle(decodeOrderList, a.listOrders)},
		{"GET", "/orders/{order_id}", "getOrderById", repeatable, roles(customer, seller, admin), handle(decodeOrderID, a.getOrderByID)},
		{"POST", "/orders/{order_id}/reservation", "reserveInventory", guarded, roles(customer, seller, system), handle(decodeReserveInventory, a.reserveInventory)},
		{"POST", "/orders/{order_id}/payment/confirm", "confirmPayment", guarded, roles(customer), handle(decodeConfirmPayment, a.confirmPayment)},
		{"POST", "/orders/{order_id}/payment/refund", "refundPayment", guarded, roles(customer, admin), handle(decodeRefundPayment, a.refundPayment)},
		{"GET", "/orders/{order_id}/payments", "listPayments", repeatable, roles(customer, seller, admin), handle(decodeOrderID, a.listPayments)},
		{"GET", "/payments/{payment_id}", "getPayment", repeatable, roles(customer, seller, admin), handle(decodePaymentID, a.getPayment)},
		{"GET", "/refunds/{refund_id}", "getRefund", repeatable, roles(customer, seller, admin), handle(decodeRefundID, a.getRefund)},
		{"POST", "/orders/{order_id}/cancel", "cancelOrder", guarded, roles(customer, seller, admin), handle(decodeCancelOrder, a.cancelOrder)},
		{"PATCH", "/orders/{order_id}/status", "updateOrderStatus", unrepeatable, roles(seller, admin), handle(decodeUpdateOrderStatus, a.updateOrderStatus)},

		{"POST", "/customers/{customer_id}/balance/charge", "chargeBalance", guarded, roles(system, admin), handle(decodeChangeBalance, a.chargeBalance)},
		{"POST", "/customers/{customer_id}/balance/credit", "creditBalance", guarded, roles(system, admin), handle(decodeChangeBalance, a.creditBalance)},
		{"GET", "/customers/{customer_id}/balance", "getBalance", repeatable, roles(customer, system, admin), handle(decodeCustomerID, a.getBalance)},
		{"GET", "/customers/{customer_id}/balance/transactions", "listBalanceTransactions", repeatable, roles(customer, system, admin), handle(decodeTransactionList, a.listBalanceTransactions)},
		{"GET", "/customers/{customer_id}/profile", "getCustomerProfile", repeatable, roles(customer, admin), handle(decodeCustomerID, a.getCustomerProfile)},
		{"PUT", "/customers/{customer_id}/profile", "updateCustomerProfile", repeatable, roles(customer, admin), handle(decodeProfile, a.updateCustomerProfile)},
		{"DELETE", "/customers/{customer_id}/profile", "deleteCustomerProfile", repeatable, roles(customer, admin), handle(decodeCustomerID, a.deleteCustomerProfile)},

		{"PUT", "/products/{sku}", "putProduct", unrepeatable, roles(seller, admin), handle(decodePutProduct, a.putProduct)},
		{"POST", "/products/{sku}/stock", "adjustStock", guarded, roles(seller, admin), handle(decodeAdjustStock, a.adjustStock)},
		{"GET", "/products/{sku}", "getProduct", repeatable, roles(customer, seller, admin, system), handle(decodeSKU, a.getProduct)},
		{"GET", "/products", "listProducts", repeatable, roles(customer, seller, admin, system), handle(decodePage, a.listProducts)},

		{"GET", "/idempotency-keys/{key}", "getIdempotencyKey", repeatable, roles(customer, seller, admin, system), handle(decodeKeyID, a.getIdempotencyKey)},
		{"GET", "/admin/audit-log", "listAuditLog", repeatable, roles(admin), handle(decodePage, a.listAuditLog)},
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
