package core

// The fault codes specific to this business.
const (
	CodeInsufficientFunds        Code = "insufficient_funds"
	CodeReferenceTaken           Code = "reference_taken"
	CodeInvalidOrderState        Code = "invalid_order_state"
	CodeReservationLimit         Code = "reservation_limit"
	CodeUnpaidOrdersLimit        Code = "unpaid_orders_limit"
	CodeOutOfStock               Code = "out_of_stock"
	CodeStockReserved            Code = "stock_reserved"
	CodeReservationExpired       Code = "reservation_expired"
	CodeRefundExceedsPayment     Code = "refund_exceeds_payment"
	CodePaymentDisputed          Code = "payment_disputed"
	CodePreconditionFailed       Code = "precondition_failed"
	CodePreconditionRequired     Code = "precondition_required"
	CodeUnknownSKU               Code = "unknown_sku"
	CodeMixedCurrencies          Code = "mixed_currencies"
	CodeMixedSellers             Code = "mixed_sellers"
	CodePaymentMethodUnavailable Code = "payment_method_unavailable"
	CodeWebhookEndpointExists    Code = "webhook_endpoint_exists"
)

// ReferenceTaken refuses an intent that already took effect under a different key: only
// the reference can show that two operations are the same intent. The effect begins the
// detail text.
func ReferenceTaken(effect string) *Fault {
	return Refuse(CodeReferenceTaken, effect+" with this reference")
}
