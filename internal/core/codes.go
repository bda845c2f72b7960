package core

// The codes of what the use cases about orders, payments and customers refuse.
const (
	CodeInsufficientFunds        Code = "insufficient_funds"
	CodeCardDeclined             Code = "card_declined"
	CodeReferenceTaken           Code = "reference_taken"
	CodeInvalidOrderState        Code = "invalid_order_state"
	CodeReservationLimit         Code = "reservation_limit"
	CodeUnpaidOrdersLimit        Code = "unpaid_orders_limit"
	CodeOutOfStock               Code = "out_of_stock"
	CodeStockReserved            Code = "stock_reserved"
	CodeReservationExpired       Code = "reservation_expired"
	CodeRefundExceedsPayment     Code = "refund_exceeds_payment"
	CodePreconditionFailed       Code = "precondition_failed"
	CodePreconditionRequired     Code = "precondition_required"
	CodeUnknownSKU               Code = "unknown_sku"
	CodeMixedCurrencies          Code = "mixed_currencies"
	CodeMixedSellers             Code = "mixed_sellers"
	CodePaymentMethodUnavailable Code = "payment_method_unavailable"
)

// ReferenceTaken returns the refusal of an intent that took effect before: effect says
// what has this reference. A new key makes a new operation, so only the reference can tell
// that it is the same intent.
func ReferenceTaken(effect string) *Fault {
	return Refuse(CodeReferenceTaken, effect+" with this reference")
}
