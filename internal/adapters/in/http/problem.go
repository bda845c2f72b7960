package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// problemMedia is the media type of a problem document (RFC 9457).
const problemMedia = "application/problem+json"

// problemTypes is the prefix of the type of every problem document; the code follows.
// docs/problems.md has a section for each code.
const problemTypes = "https://orders.example.com/problems/"

// problemKind is what all problems with one code have in common.
type problemKind struct {
	status int
	title  string
	// retryAfter is after how many seconds the same request can succeed; 0 means never.
	retryAfter int
}

func (k problemKind) retryable() bool { return k.retryAfter > 0 }

// nextKey returns which Idempotency-Key another attempt needs on a route that takes one.
// An operation that has not been decided, or may still take effect, keeps its key. One
// that was decided, or whose request has to change, needs a new key. Nil stands for codes
// that no such route has.
func nextKey(code wire.ProblemCode) *wire.NextKey {
	switch status := problemKinds[code].status; {
	case slices.Contains(keyless, status):
		return nil
	case status >= http.StatusInternalServerError, slices.Contains(undecided, status), code == wire.ProblemCodeIdempotencyInProgress:
		return new(wire.NextKeySame)
	}
	return new(wire.NextKeyNew)
}

// keyless are the statuses that only routes without a key have.
var keyless = []int{http.StatusMethodNotAllowed, http.StatusPreconditionFailed, http.StatusPreconditionRequired}

// undecided are the statuses below 500 that decide nothing: the same operation can succeed
// with another token, later, or when its resource exists.
var undecided = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests}

// problemKinds lists every code that the service sends.
var problemKinds = map[wire.ProblemCode]problemKind{
	wire.ProblemCodeMalformedRequest:         {http.StatusBadRequest, "Malformed request", 0},
	wire.ProblemCodeIdempotencyKeyRequired:   {http.StatusBadRequest, "Idempotency-Key required", 0},
	wire.ProblemCodeIdempotencyKeyInvalid:    {http.StatusBadRequest, "Invalid Idempotency-Key", 0},
	wire.ProblemCodeUnauthenticated:          {http.StatusUnauthorized, "Authentication required", 0},
	wire.ProblemCodeInsufficientFunds:        {http.StatusPaymentRequired, "Insufficient funds", 0},
	wire.ProblemCodeCardDeclined:             {http.StatusPaymentRequired, "Card declined", 0},
	wire.ProblemCodeForbiddenRole:            {http.StatusForbidden, "Role not permitted", 0},
	wire.ProblemCodeForbiddenResource:        {http.StatusForbidden, "Access denied", 0},
	wire.ProblemCodeNotFound:                 {http.StatusNotFound, "Not found", 0},
	wire.ProblemCodeMethodNotAllowed:         {http.StatusMethodNotAllowed, "Method not allowed", 0},
	wire.ProblemCodeBodyTooLarge:             {http.StatusRequestEntityTooLarge, "Body too large", 0},
	wire.ProblemCodeUnsupportedMediaType:     {http.StatusUnsupportedMediaType, "Unsupported media type", 0},
	wire.ProblemCodeReferenceTaken:           {http.StatusConflict, "Reference already taken", 0},
	wire.ProblemCodeIdempotencyKeyReused:     {http.StatusConflict, "Idempotency-Key already used", 0},
	wire.ProblemCodeIdempotencyKeySpent:      {http.StatusConflict, "Idempotency-Key spent", 0},
	wire.ProblemCodeIdempotencyInProgress:    {http.StatusConflict, "Request in progress", 1},
	wire.ProblemCodeInvalidOrderState:        {http.StatusConflict, "Invalid order state", 0},
	wire.ProblemCodeReservationLimit:         {http.StatusConflict, "Too many extensions", 0},
	wire.ProblemCodeUnpaidOrdersLimit:        {http.StatusConflict, "Too many unpaid orders", 0},
	wire.ProblemCodeOutOfStock:               {http.StatusConflict, "Insufficient stock", 0},
	wire.ProblemCodeStockReserved:            {http.StatusConflict, "Stock is reserved", 0},
	wire.ProblemCodeReservationExpired:       {http.StatusConflict, "Reservation expired", 0},
	wire.ProblemCodeRefundExceedsPayment:     {http.StatusConflict, "Refund exceeds the refundable amount", 0},
	wire.ProblemCodePreconditionFailed:       {http.StatusPreconditionFailed, "Precondition failed", 0},
	wire.ProblemCodePreconditionRequired:     {http.StatusPreconditionRequired, "Precondition required", 0},
	wire.ProblemCodeValidationFailed:         {http.StatusUnprocessableEntity, "Validation failed", 0},
	wire.ProblemCodeUnknownSKU:               {http.StatusUnprocessableEntity, "Unknown SKU", 0},
	wire.ProblemCodeMixedCurrencies:          {http.StatusUnprocessableEntity, "Mixed currencies", 0},
	wire.ProblemCodeMixedSellers:             {http.StatusUnprocessableEntity, "Mixed sellers", 0},
	wire.ProblemCodePaymentMethodUnavailable: {http.StatusUnprocessableEntity, "Payment method unavailable", 0},
	wire.ProblemCodeRateLimited:              {http.StatusTooManyRequests, "Too many requests", 10},
	wire.ProblemCodeInternal:                 {http.StatusInternalServerError, "Internal error", 0},
	wire.ProblemCodeUnavailable:              {http.StatusServiceUnavailable, "Service unavailable", 5},
	wire.ProblemCodeOutcomeUnknown:           {http.StatusServiceUnavailable, "Outcome unknown", 2},
}

// problem refuses a request. It is an error inside the adapter and an RFC 9457 document
// for the client, so it contains nothing that the client must not know (AUTH-16,
// AUTH-18).
type problem struct {
	code   wire.ProblemCode
	detail string
	errors []wire.FieldError
	// header holds the headers of the response besides Content-Type.
	header http.Header
}

// newProblem returns a problem with a code of problemKinds and the headers that the
// contract requires.
func newProblem(code wire.ProblemCode, detail string) *problem {
	p := &problem{code: code, detail: detail, header: http.Header{}}
	kind := problemKinds[code]
	if kind.retryable() {
		p.header.Set("Retry-After", strconv.Itoa(kind.retryAfter))
	}
	if kind.status == http.StatusUnauthorized {
		p.header.Set("WWW-Authenticate", "Bearer")
	}
	return p
}

// Error returns code and detail.
func (p *problem) Error() string { return string(p.code) + ": " + p.detail }

// response returns the problem document for the request of a log entry; see [instanceOf].
func (p *problem) response(entry *logEntry, instance string) *response {
	kind := problemKinds[p.code]
	document := wire.Problem{
		Type:      problemTypes + string(p.code),
		Title:     kind.title,
		Status:    kind.status,
		Detail:    p.detail,
		Instance:  instance,
		Code:      p.code,
		RequestID: entry.requestID,
		Retryable: kind.retryable(),
		Errors:    p.errors,
	}
	if entry.guarded {
		document.NextKey = nextKey(p.code)
	}
	body, err := json.Marshal(document)
	if err != nil {
		panic("marshal a problem of strings and numbers: " + err.Error())
	}
	return &response{status: kind.status, contentType: problemMedia, body: body, header: p.header}
}

// errorProblems lists the errors of other packages that have a problem of their own.
// The order counts, because an error with an unknown outcome may wrap ErrUnavailable,
// too.
var errorProblems = []struct {
	err    error
	code   wire.ProblemCode
	detail string
}{
	{idempotency.ErrKeyRequired, wire.ProblemCodeIdempotencyKeyRequired,
		"send an Idempotency-Key header: one key for one operation, kept through all retries"},
	{idempotency.ErrKeyReused, wire.ProblemCodeIdempotencyKeyReused,
		core.KeyReused().Detail}, // the second line of defence refuses in the same words
	{idempotency.ErrKeySpent, wire.ProblemCodeIdempotencyKeySpent,
		"this request was refused earlier and its response has expired; send a new attempt with a new key"},
	{idempotency.ErrInProgress, wire.ProblemCodeIdempotencyInProgress,
		"the first request with this Idempotency-Key is still running; retry with the same key"},
	{core.ErrOutcomeUnknown, wire.ProblemCodeOutcomeUnknown,
		"the outcome of the request is unknown; send the same request with the same key to learn it"},
	{core.ErrUnavailable, wire.ProblemCodeUnavailable,
		"the service is temporarily unavailable; the request had no effect"},
}

// problemOf is the one place where errors become problems. An error that it does not
// know is internal: the client learns nothing of it.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return problemOfFault(fault)
	}
	if errors.Is(err, idempotency.ErrKeyInvalid) {
		return newProblem(wire.ProblemCodeIdempotencyKeyInvalid, err.Error()) // it says why
	}
	for _, known := range errorProblems {
		if errors.Is(err, known.err) {
			return newProblem(known.code, known.detail)
		}
	}
	return internalProblem()
}

func internalProblem() *problem {
	return newProblem(wire.ProblemCodeInternal, "an unexpected error occurred")
}

// problemOfFault translates a refusal by a use case. A code that is not in the contract
// is a bug, and must not reach clients, who rely on codes.
func problemOfFault(f *core.Fault) *problem {
	code := wire.ProblemCode(f.Code)
	if _, ok := problemKinds[code]; !ok {
		return internalProblem()
	}
	p := newProblem(code, f.Detail)
	for _, field := range f.Fields {
		p.errors = append(p.errors, wire.FieldError{Pointer: fragment(field.Pointer), Detail: field.Detail})
	}
	return p
}
