package core

// Kind sorts faults by who has to do something about them.
type Kind int

// The kinds of refusal. Anything that is not a [Fault] is a failure of ours.
const (
	// Invalid: the request contradicts itself or the catalogue; it can never succeed.
	Invalid Kind = iota + 1
	// Unpaid: money is missing.
	Unpaid
	// Denied: the resource is somebody else's.
	Denied
	// Missing: there is no such thing.
	Missing
	// Conflict: the state of things forbids it now.
	Conflict
)

// Code is the stable name of a fault, the one that clients switch on.
type Code string

// The codes that use cases give. Those of transport (tokens, keys, bodies)
// belong to the HTTP adapter.
const (
	CodeInsufficientFunds        Code = "insufficient_funds"
	CodeCardDeclined             Code = "card_declined"
	CodeForbiddenResource        Code = "forbidden_resource"
	CodeNotFound                 Code = "not_found"
	CodeIdempotencyKeyReused     Code = "idempotency_key_reused"
	CodeInvalidOrderState        Code = "invalid_order_state"
	CodeOutOfStock               Code = "out_of_stock"
	CodeStockReserved            Code = "stock_reserved"
	CodeReservationExpired       Code = "reservation_expired"
	CodeRefundExceedsPayment     Code = "refund_exceeds_payment"
	CodeValidationFailed         Code = "validation_failed"
	CodeUnknownSKU               Code = "unknown_sku"
	CodeMixedCurrencies          Code = "mixed_currencies"
	CodeMixedSellers             Code = "mixed_sellers"
	CodePaymentMethodUnavailable Code = "payment_method_unavailable"
)

// FieldFault says what is wrong with one member of a command. Pointer is an RFC
// 6901 JSON pointer, "/amount/currency".
type FieldFault struct {
	Pointer string
	Detail  string
}

// Fault is a refusal by the business. Detail is safe to show: it names ids,
// amounts and states, and neither causes nor personal data (AUTH-16, AUTH-18).
type Fault struct {
	Kind   Kind
	Code   Code
	Detail string
	Fields []FieldFault
}

// Error gives the code and the detail.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Detail }

// Refuse makes a fault of the kind.
func Refuse(kind Kind, code Code, detail string) *Fault {
	return &Fault{Kind: kind, Code: code, Detail: detail}
}

// NotFound is the refusal of an id that does not exist.
func NotFound(what string) *Fault {
	return Refuse(Missing, CodeNotFound, "there is no such "+what)
}

// Forbidden is the refusal of a resource that the actor does not own (AUTH-10).
func Forbidden(detail string) *Fault {
	return Refuse(Denied, CodeForbiddenResource, detail)
}

// InvalidField is the refusal of one member of a command.
func InvalidField(pointer, detail string) *Fault {
	f := Refuse(Invalid, CodeValidationFailed, "the request does not satisfy the contract")
	f.Fields = []FieldFault{{Pointer: pointer, Detail: detail}}
	return f
}

// KeyReused is the refusal of the second line of defence: the key of a business
// operation that already happened came back with another request (AUTH-19).
func KeyReused() *Fault {
	return Refuse(Conflict, CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request")
}
