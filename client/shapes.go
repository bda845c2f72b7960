package client

import "example.com/orders/client/api"

// The shapes of responses. A member that is absent or null has its zero value: an order
// without a reservation has one whose ExpiresAt is zero. Statuses are texts, because a newer
// service may send others than those below.
type (
	// Money is an amount, a decimal text, in a currency.
	Money = api.Money
	// Order is what a customer buys from one seller, in one currency.
	Order = api.Order
	// OrderItem is an item of an order, with the price at which it was ordered.
	OrderItem = api.OrderItem
	// Payment is a payment of an order.
	Payment = api.Payment
	// PaymentWithRefunds is a payment with its refunds, newest first.
	PaymentWithRefunds = api.PaymentWithRefunds
	// Refund is a refund of a payment, in full or in part.
	Refund = api.Refund
	// Balance is what a customer has, one amount a currency.
	Balance = api.Balance
	// BalanceTransaction is a change of a balance.
	BalanceTransaction = api.BalanceTransaction
	// Profile is the personal data of a customer.
	Profile = api.Profile
	// Product is a product with its price and stock.
	Product = api.Product
	// StockAdjustment is a change of the stock of a product.
	StockAdjustment = api.StockAdjustment
	// IdempotencyRecord is what became of the operation that has a key.
	IdempotencyRecord = api.IdempotencyRecord
	// AuditEntry is an action of an administrator.
	AuditEntry = api.AuditEntry
)

// The shapes of requests. An optional member with its zero value is left out.
type (
	// NewOrder is an order to create. A seller names the customer.
	NewOrder = api.CreateOrderRequest
	// Item is how many units of a product to order.
	Item = api.CreateOrderItem
	// RefundOf is what to refund: all that is refundable, unless an amount is given.
	RefundOf = api.RefundPaymentRequest
	// Cancellation says why an order is cancelled, or nothing.
	Cancellation = api.CancelOrderRequest
	// Credit is an amount to add to a balance.
	Credit = api.CreditBalanceRequest
	// Charge is an amount to take from a balance.
	Charge = api.ChargeBalanceRequest
	// StockChange is how many units to add to the stock, or to take away.
	StockChange = api.AdjustStockRequest
	// ProductUpdate is the name and the price of a product. OnHand is its stock, nil to leave
	// that alone.
	ProductUpdate = api.PutProductRequest
	// ProfileUpdate replaces the personal data of a customer.
	ProfileUpdate = api.UpdateCustomerProfileRequest
)

// Statuses of orders, payments and refunds.
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

// ByCard pays by a Stripe payment method, pm_…, which is what the card has become in the
// browser. A card number is refused.
func ByCard(paymentMethod string) PaymentMethod {
	return PaymentMethod{api.ConfirmCardPayment{Method: api.ConfirmCardPaymentMethodCard, PaymentMethod: paymentMethod}}
}
