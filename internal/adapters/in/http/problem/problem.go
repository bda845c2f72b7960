// Package problem turns errors into problem documents (RFC 9457).
package problem

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

// MediaType is the media type of a problem document (RFC 9457).
const MediaType = "application/problem+json"

// Types is the prefix of every problem type; the code follows. docs/problems.md has a
// section for each code.
const Types = "https://orders.example.com/problems/"

// kind holds the properties that all problems with one code share.
type kind struct {
	status int
	title  string
	// retryAfter is after how many seconds the same request can succeed; 0 means never.
	retryAfter int
	next       nextKey
}

func (k kind) retryable() bool { return k.retryAfter > 0 }

// nextKey says which Idempotency-Key the next attempt needs on a route that takes one.
// A program that obeys it blindly never has two effects.
type nextKey int

const (
	// noKey: no route with a key has the problem.
	noKey nextKey = iota
	// sameKey: the operation is undecided, and an earlier attempt with the key may have
	// taken effect, or may still.
	sameKey
	// lookUpKey: the key belongs to a different request, which may have taken effect.
	// Only a look-up resolves it.
	lookUpKey
	// newKey: the operation was decided under the key before.
	newKey
	// newKeyIfStored: the use case refuses with it, and the guard stores that: it
	// decides the operation. Found before the key is claimed, it is no decision, as
	// with sameKey.
	newKeyIfStored
)

// wire returns the value for a problem, which the guard may have stored.
func (n nextKey) wire(stored bool) *wire.NextKey {
	switch {
	case n == noKey:
		return nil
	case n == lookUpKey:
		return new(wire.NextKeyLookUp)
	case n == newKey, n == newKeyIfStored && stored:
		return new(wire.NextKeyNew)
	}
	return new(wire.NextKeySame)
}

// kinds lists every code that the service sends.
var kinds = map[wire.ProblemCode]kind{
	wire.ProblemCodeMalformedRequest:         {http.StatusBadRequest, "Malformed request", 0, sameKey},
	wire.ProblemCodeIdempotencyKeyRequired:   {http.StatusBadRequest, "Idempotency-Key required", 0, sameKey},
	wire.ProblemCodeIdempotencyKeyInvalid:    {http.StatusBadRequest, "Invalid Idempotency-Key", 0, sameKey},
	wire.ProblemCodeUnauthenticated:          {http.StatusUnauthorized, "Authentication required", 0, sameKey},
	wire.ProblemCodeInsufficientFunds:        {http.StatusPaymentRequired, "Insufficient funds", 0, newKeyIfStored},
	wire.ProblemCodeForbiddenRole:            {http.StatusForbidden, "Role not permitted", 0, sameKey},
	wire.ProblemCodeForbiddenResource:        {http.StatusForbidden, "Access denied", 0, sameKey},
	wire.ProblemCodeNotFound:                 {http.StatusNotFound, "Not found", 0, sameKey},
	wire.ProblemCodeMethodNotAllowed:         {http.StatusMethodNotAllowed, "Method not allowed", 0, noKey},
	wire.ProblemCodeBodyTooLarge:             {http.StatusRequestEntityTooLarge, "Body too large", 0, sameKey},
	wire.ProblemCodeUnsupportedMediaType:     {http.StatusUnsupportedMediaType, "Unsupported media type", 0, sameKey},
	wire.ProblemCodeReferenceTaken:           {http.StatusConflict, "Reference already taken", 0, newKeyIfStored},
	wire.ProblemCodeIdempotencyKeyReused:     {http.StatusConflict, "Idempotency-Key already used", 0, lookUpKey},
	wire.ProblemCodeIdempotencyKeySpent:      {http.StatusConflict, "Idempotency-Key spent", 0, newKey},
	wire.ProblemCodeIdempotencyInProgress:    {http.StatusConflict, "Request in progress", 1, sameKey},
	wire.ProblemCodeInvalidOrderState:        {http.StatusConflict, "Invalid order state", 0, newKeyIfStored},
	wire.ProblemCodeReservationLimit:         {http.StatusConflict, "Too many extensions", 0, newKeyIfStored},
	wire.ProblemCodeUnpaidOrdersLimit:        {http.StatusConflict, "Too many unpaid orders", 0, newKeyIfStored},
	wire.ProblemCodeOutOfStock:               {http.StatusConflict, "Insufficient stock", 0, newKeyIfStored},
	wire.ProblemCodeStockReserved:            {http.StatusConflict, "Stock is reserved", 0, newKeyIfStored},
	wire.ProblemCodeReservationExpired:       {http.StatusConflict, "Reservation expired", 0, newKeyIfStored},
	wire.ProblemCodeRefundExceedsPayment:     {http.StatusConflict, "Refund exceeds the refundable amount", 0, newKeyIfStored},
	wire.ProblemCodePaymentDisputed:          {http.StatusConflict, "Payment disputed", 0, newKeyIfStored},
	wire.ProblemCodeWebhookEndpointExists:    {http.StatusConflict, "Webhook endpoint exists", 0, noKey},
	wire.ProblemCodePreconditionFailed:       {http.StatusPreconditionFailed, "Precondition failed", 0, noKey},
	wire.ProblemCodePreconditionRequired:     {http.StatusPreconditionRequired, "Precondition required", 0, noKey},
	wire.ProblemCodeValidationFailed:         {http.StatusUnprocessableEntity, "Validation failed", 0, newKeyIfStored},
	wire.ProblemCodeUnknownSKU:               {http.StatusUnprocessableEntity, "Unknown SKU", 0, newKeyIfStored},
	wire.ProblemCodeMixedCurrencies:          {http.StatusUnprocessableEntity, "Mixed currencies", 0, newKeyIfStored},
	wire.ProblemCodeMixedSellers:             {http.StatusUnprocessableEntity, "Mixed sellers", 0, newKeyIfStored},
	wire.ProblemCodePaymentMethodUnavailable: {http.StatusUnprocessableEntity, "Payment method unavailable", 0, newKeyIfStored},
	wire.ProblemCodeRateLimited:              {http.StatusTooManyRequests, "Too many requests", 10, sameKey},
	wire.ProblemCodeInternal:                 {http.StatusInternalServerError, "Internal error", 0, sameKey},
	wire.ProblemCodeUnavailable:              {http.StatusServiceUnavailable, "Service unavailable", 2, sameKey},
	wire.ProblemCodeOutcomeUnknown:           {http.StatusServiceUnavailable, "Outcome unknown", 2, sameKey},
}

// Problem refuses a request. It is an error inside the adapter and an RFC 9457 document
// for the client, so it contains only what the client may know (AUTH-16, AUTH-18).
type Problem struct {
	Code   wire.ProblemCode
	Detail string
	Errors []wire.FieldError
	// Stored reports that the guard stores the refusal under the request's key.
	Stored bool
	// Header holds all response headers except Content-Type.
	Header http.Header
}

// New returns a problem with a code from kinds and the headers that the contract
// requires.
func New(code wire.ProblemCode, detail string) *Problem {
	p := &Problem{Code: code, Detail: detail, Header: http.Header{}}
	k := kinds[code]
	if k.retryable() {
		p.Header.Set("Retry-After", strconv.Itoa(k.retryAfter))
	}
	if k.status == http.StatusUnauthorized {
		p.Header.Set("WWW-Authenticate", "Bearer")
	}
	return p
}

// Error returns code and detail.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// Status returns the HTTP status.
func (p *Problem) Status() int { return kinds[p.Code].status }

// IsFinal reports whether a refusal by a use case decides the operation, so that the
// guard stores it: 402, 409 and 422. A failure is no decision, nor are 403 and 404,
// which depend on who asks and on what exists by then.
//
// Refusals about a key are no decisions either. When the second line of defence answers
// idempotency_key_reused, the key belongs to an earlier request with an expired record;
// storing the refusal would take the key away from that request.
func (p *Problem) IsFinal() bool { return kinds[p.Code].next == newKeyIfStored }

// Document returns the problem as JSON. guarded reports whether the route takes an
// Idempotency-Key; see [Instance].
func (p *Problem) Document(requestID, instance string, guarded bool) []byte {
	k := kinds[p.Code]
	document := wire.Problem{
		Type:      Types + string(p.Code),
		Title:     k.title,
		Status:    k.status,
		Detail:    p.Detail,
		Instance:  instance,
		Code:      p.Code,
		RequestID: requestID,
		Retryable: p.Header.Get("Retry-After") != "",
		Errors:    p.Errors,
	}
	if guarded {
		document.NextKey = k.next.wire(p.Stored)
	}
	body, err := json.Marshal(document)
	if err != nil {
		panic("marshal a problem of strings and numbers: " + err.Error())
	}
	return body
}

// errorProblems maps errors from other packages to problems. The order counts, because
// an error with an unknown outcome may also wrap ErrUnavailable.
var errorProblems = []struct {
	err    error
	code   wire.ProblemCode
	detail string
}{
	{guard.ErrKeyRequired, wire.ProblemCodeIdempotencyKeyRequired,
		"send an Idempotency-Key header: one key for one operation, kept through all retries"},
	{guard.ErrKeyReused, wire.ProblemCodeIdempotencyKeyReused,
		core.KeyReused().Detail}, // the second line of defence refuses in the same words
	{guard.ErrKeySpent, wire.ProblemCodeIdempotencyKeySpent,
		"this request was refused earlier and its response has expired; send a new attempt with a new key"},
	{guard.ErrInProgress, wire.ProblemCodeIdempotencyInProgress,
		"a request with this Idempotency-Key is still running; retry with the same key"},
	{core.ErrOutcomeUnknown, wire.ProblemCodeOutcomeUnknown,
		"the outcome of the request is unknown; send the same request with the same key to learn it"},
	{core.ErrUnavailable, wire.ProblemCodeUnavailable,
		"the service is temporarily unavailable; the request had no effect"},
}

// Of returns the problem for an error, and is the only place that decides it. An
// unknown error is internal: the client does not learn it.
func Of(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return ofFault(fault)
	}
	if errors.Is(err, guard.ErrKeyInvalid) {
		return New(wire.ProblemCodeIdempotencyKeyInvalid, err.Error()) // it says why
	}
	for _, known := range errorProblems {
		if errors.Is(err, known.err) {
			return New(known.code, known.detail)
		}
	}
	return internal()
}

func internal() *Problem {
	return New(wire.ProblemCodeInternal, "an unexpected error occurred")
}

// ofFault translates a refusal by a use case. A code that is not in the contract
// is a bug, and must not reach clients, who rely on codes.
func ofFault(f *core.Fault) *Problem {
	code := wire.ProblemCode(f.Code)
	if _, ok := kinds[code]; !ok {
		return internal()
	}
	p := New(code, f.Detail)
	for _, field := range f.Fields {
		p.Errors = append(p.Errors, wire.FieldError{Pointer: Fragment(field.Pointer), Detail: field.Detail})
	}
	return p
}

// Invalid returns the problem for a request with invalid members.
func Invalid(fields ...wire.FieldError) *Problem {
	p := New(wire.ProblemCodeValidationFailed, "the request is invalid; see errors")
	p.Errors = tidy(fields)
	return p
}

// Join returns one problem with everything that is invalid in the parts of a request, or nil.
// The first error decides: if it is of another kind, it is returned alone.
func Join(errs ...error) error {
	var first error
	var fields []wire.FieldError
	for _, err := range errs {
		if err == nil {
			continue
		}
		first = cmp.Or(first, err)
		if p := Of(err); p.Code == wire.ProblemCodeValidationFailed {
			fields = append(fields, p.Errors...)
		}
	}
	if first == nil || Of(first).Code != wire.ProblemCodeValidationFailed {
		return first
	}
	return Invalid(fields...)
}

// MaxErrors bounds the response: a 64 KiB body has room for thousands of unknown
// members.
const MaxErrors = 100

// tidy sorts the entries, so that equal bodies get equal responses, and bounds their
// number: one for each pointer.
func tidy(fields []wire.FieldError) []wire.FieldError {
	slices.SortFunc(fields, func(a, b wire.FieldError) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Detail, b.Detail))
	})
	fields = slices.CompactFunc(fields, func(a, b wire.FieldError) bool { return a.Pointer == b.Pointer })
	return fields[:min(len(fields), MaxErrors)]
}

// pointerEscapes are the characters with a meaning in a JSON pointer (RFC 6901).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns a member's location as a JSON pointer in a URI fragment.
func Pointer(location ...string) string {
	var p strings.Builder
	for _, token := range location {
		p.WriteString("/" + pointerEscapes.Replace(token))
	}
	return Fragment(p.String())
}

// Fragment returns a JSON pointer as a URI fragment, as in RFC 9457: "/a b" is
// "#/a%20b".
func Fragment(pointer string) string {
	return "#" + (&url.URL{Fragment: pointer}).EscapedFragment()
}
