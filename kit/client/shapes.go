package client

import "example.com/orders/kit/client/api"

// Responses. A member that is absent or null has the zero value: an order without a reservation
// has one whose ExpiresAt is zero. Statuses are strings, because a newer service may send
// unknown ones.
type (
	// Money is an amount, a decimal text, in a currency.
	Money = api.Money
	// Order is a customer's purchase from one seller, in one currency.
	Order = api.Order
	// OrderItem is an ordered item with the price at that time.
	OrderItem = api.OrderItem
	// Payment pays an order.
	Payment = api.Payment
	// PaymentWithRefunds is a payment with all refunds, newest first.
	PaymentWithRefunds = api.PaymentWithRefunds
	// Refund refunds a payment, in full or in part.
	Refund = api.Refund
	// Balance is a customer balance, one amount per currency.
	Balance = api.Balance
	// BalanceTransaction changes a balance.
	BalanceTransaction = api.BalanceTransaction
	// Profile is a customer's personal data.
	Profile = api.Profile
	// Product is a product with price and stock.
	Product = api.Product
	// StockAdjustment changes a product's stock.
	StockAdjustment = api.StockAdjustment
	// IdempotencyRecord is the outcome of the operation with a key.
	IdempotencyRecord = api.IdempotencyRecord
	// AuditEntry is an administrator's action.
	AuditEntry = api.AuditEntry
	// WebhookEndpoint is a URL that receives events.
	WebhookEndpoint = api.WebhookEndpoint
	// WebhookEndpointWithSecret is a webhook endpoint with its new secret. Nothing else
	// returns the secret.
	WebhookEndpointWithSecret = api.WebhookEndpointWithSecret
	// WebhookDelivery is one event for one webhook endpoint.
	WebhookDelivery = api.WebhookDelivery
)

// Requests. An optional member with the zero value is left out.
type (
	// NewOrder is an order to create. A seller names the customer.
	NewOrder = api.CreateOrderRequest
	// Item is a product and the quantity to order.
	Item = api.CreateOrderItem
	// RefundOf is the amount to refund, with an optional reason and reference.
	RefundOf = api.PartialRefundRequest
	// Cancellation is an optional reason.
	Cancellation = api.CancelOrderRequest
	// Credit is an amount to add to a balance.
	Credit = api.CreditBalanceRequest
	// Charge is an amount to take from a balance.
	Charge = api.ChargeBalanceRequest
	// StockChange is the number of units to add, or to take away.
	StockChange = api.AdjustStockRequest
	// ProductUpdate is a product's name and price. OnHand is its stock, nil to keep it.
	ProductUpdate = api.PutProductRequest
	// ProfileUpdate replaces a customer's personal data.
	ProfileUpdate = api.UpdateCustomerProfileRequest
	// NewWebhookEndpoint is a webhook endpoint to create.
	NewWebhookEndpoint = api.CreateWebhookEndpointRequest
	// WebhookEndpointUpdate has the members of a webhook endpoint that change.
	WebhookEndpointUpdate = api.UpdateWebhookEndpointRequest
)

// FullRefund is a refund of everything that is still refundable, with an optional reason
// and reference.
type FullRefund struct{ Reason, Reference string }

// Order, payment and refund statuses.
const (
	OrderPendingPayment    = "pending_payment"
	OrderPaymentProcessing = "payment_processing"
	OrderPaid              = "paid"
	OrderFulfilling        = "fulfilling"
	OrderShipped           = "shipped"
	OrderDelivered         = "delivered"
	OrderCancelled         = "cancelled"

	PaymentProcessing = "processing"
	PaymentCaptured   = "captured"
	PaymentFailed     = "failed"

	RefundPending   = "pending"
	RefundSucceeded = "succeeded"
	RefundFailed    = "failed"
)

// PaymentMethod is how an order is paid: [ByBalance] or [ByCard].
type PaymentMethod struct{ confirmation any }

// ByBalance pays from the balance of the customer.
func ByBalance() PaymentMethod {
	return PaymentMethod{api.ConfirmBalancePayment{Method: api.ConfirmBalancePaymentMethodBalance}}
}

// ByCard pays by a Stripe payment method, pm_…, which the browser received for the card.
// A card number is refused.
func ByCard(paymentMethod string) PaymentMethod {
	return PaymentMethod{api.ConfirmCardPayment{Method: api.ConfirmCardPaymentMethodCard, PaymentMethod: paymentMethod}}
}
