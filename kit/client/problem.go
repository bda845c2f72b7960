package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"example.com/orders/kit/client/api"
)

// Problem is an error response: application/problem+json, RFC 9457. Match the code with
// [errors.Is], and get the members with [errors.As]:
//
//	if errors.Is(err, client.OutOfStock) { … }
type Problem struct {
	Code      Code         `json:"code"`
	Status    int          `json:"status"`
	Title     string       `json:"title"`
	Detail    string       `json:"detail"`
	Retryable bool         `json:"retryable"`
	NextKey   string       `json:"next_key"` // "same", "new", "look_up" or ""
	RequestID string       `json:"request_id"`
	Instance  string       `json:"instance"`
	Errors    []FieldError `json:"errors"`
	// Record describes the request that owns the key, if NextKey is "look_up". It is nil if the
	// look-up failed.
	Record *IdempotencyRecord `json:"-"`
}

// Values of NextKey.
const (
	nextKeyNew    = "new"     // the operation was decided: a further attempt is a new one
	nextKeyLookUp = "look_up" // an earlier request owns the key, and may have taken effect
)

// FieldError describes an invalid member or parameter.
type FieldError = api.FieldError

// Error returns the status, the code, the detail and the invalid members.
func (p *Problem) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d %s: %s", p.Status, p.Code, p.Detail)
	for _, e := range p.Errors {
		fmt.Fprintf(&text, "; %s: %s", e.Pointer, e.Detail)
	}
	fmt.Fprintf(&text, " (request %s)", p.RequestID)
	return text.String()
}

// Is reports whether target is the problem code.
func (p *Problem) Is(target error) bool { return target == p.Code }

// leavesUnknown reports whether the request may have taken effect, or still may.
func (p *Problem) leavesUnknown() bool {
	return p.Code == IdempotencyInProgress || p.Status >= http.StatusInternalServerError && p.Code != Unavailable
}

// resolves reports whether no attempt of the request has taken effect, or still may.
func (p *Problem) resolves() bool { return p.NextKey == nextKeyNew || p.NextKey == nextKeyLookUp }

// Code is a stable problem code, and a target for [errors.Is]. A newer service may send
// unknown ones.
type Code string

// Problem codes. docs/problems.md explains each.
const (
	BodyTooLarge             Code = "body_too_large"
	ForbiddenResource        Code = "forbidden_resource"
	ForbiddenRole            Code = "forbidden_role"
	IdempotencyInProgress    Code = "idempotency_in_progress"
	IdempotencyKeyInvalid    Code = "idempotency_key_invalid"
	IdempotencyKeyRequired   Code = "idempotency_key_required"
	IdempotencyKeyReused     Code = "idempotency_key_reused"
	IdempotencyKeySpent      Code = "idempotency_key_spent"
	InsufficientFunds        Code = "insufficient_funds"
	Internal                 Code = "internal"
	InvalidOrderState        Code = "invalid_order_state"
	MalformedRequest         Code = "malformed_request"
	MethodNotAllowed         Code = "method_not_allowed"
	MixedCurrencies          Code = "mixed_currencies"
	MixedSellers             Code = "mixed_sellers"
	NotFound                 Code = "not_found"
	OutOfStock               Code = "out_of_stock"
	OutcomeUnknown           Code = "outcome_unknown"
	PaymentDisputed          Code = "payment_disputed"
	PaymentMethodUnavailable Code = "payment_method_unavailable"
	PreconditionFailed       Code = "precondition_failed"
	PreconditionRequired     Code = "precondition_required"
	RateLimited              Code = "rate_limited"
	ReferenceTaken           Code = "reference_taken"
	RefundExceedsPayment     Code = "refund_exceeds_payment"
	ReservationExpired       Code = "reservation_expired"
	ReservationLimit         Code = "reservation_limit"
	StockReserved            Code = "stock_reserved"
	Unauthenticated          Code = "unauthenticated"
	Unavailable              Code = "unavailable"
	UnknownSKU               Code = "unknown_sku"
	UnpaidOrdersLimit        Code = "unpaid_orders_limit"
	UnsupportedMediaType     Code = "unsupported_media_type"
	ValidationFailed         Code = "validation_failed"
	WebhookEndpointExists    Code = "webhook_endpoint_exists"
)

// Error returns the code.
func (c Code) Error() string { return string(c) }

// UnknownOutcomeError reports that a change may have taken effect, or still may. Call a
// command again with the same name: it sends the same key, and the answer is the outcome. A
// change without a key is not repeated: check the affected resource first. [errors.Is] matches
// the error with [OutcomeUnknown].
type UnknownOutcomeError struct {
	Operation string // the command name, else ""
	Key       string // the command key, else ""
	Err       error  // from the last attempt
}

// Error returns the remedy and the error of the last attempt.
func (e *UnknownOutcomeError) Error() string {
	next := "call it again with the same name"
	if e.Key == "" {
		next = "read what it changes before you repeat it"
	}
	return "outcome unknown, " + next + ": " + e.Err.Error()
}

// Unwrap returns the error of the last attempt.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// Is reports whether target is [OutcomeUnknown].
func (*UnknownOutcomeError) Is(target error) bool { return target == OutcomeUnknown }

// leavesUnknown reports whether a change may have taken effect although it failed.
func leavesUnknown(err error) bool {
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem.leavesUnknown()
	}
	_, isUnanswered := errors.AsType[*unansweredError](err)
	return isUnanswered // the rest were not sent
}

// failure returns the error for a call that ended with err. Unknown reports whether an attempt
// left the outcome unknown; only a decision by the service resolves that.
func (r request) failure(err error, unknown bool) error {
	err = fmt.Errorf("%s: %w", r, err)
	problem, answered := errors.AsType[*Problem](err)
	if r.operation.Method == http.MethodGet || !unknown || answered && problem.resolves() {
		return err
	}
	return &UnknownOutcomeError{Operation: r.name, Key: r.key, Err: err}
}
