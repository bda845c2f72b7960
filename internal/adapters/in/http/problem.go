package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
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
	next       nextKey
}

func (k problemKind) retryable() bool { return k.retryAfter > 0 }

// nextKey says which Idempotency-Key another attempt needs on a route that takes one. A
// program that obeys it blindly never has two effects.
type nextKey int

const (
	// noKey: no route with a key has the problem.
	noKey nextKey = iota
	// sameKey: nothing was decided, and an earlier attempt with the key may have taken
	// effect, or may still.
	sameKey
	// lookUpKey: the key belongs to another request, which may have taken effect. Only a
	// look-up of the key tells.
	lookUpKey
	// newKey: the operation was decided under the key before.
	newKey
	// newKeyIfStored: the use case refuses with it, and the guard stores that: it decides the
	// operation. Found before the key is claimed, it decides nothing, as with sameKey.
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

// problemKinds lists every code that the service sends.
var problemKinds = map[wire.ProblemCode]problemKind{
	wire.ProblemCodeMalformedRequest:         {http.StatusBadRequest, "Malformed request", 0, sameKey},
	wire.ProblemCodeIdempotencyKeyRequired:   {http.StatusBadRequest, "Idempotency-Key required", 0, sameKey},
	wire.ProblemCodeIdempotencyKeyInvalid:    {http.StatusBadRequest, "Invalid Idempotency-Key", 0, sameKey},
	wire.ProblemCodeUnauthenticated:          {http.StatusUnauthorized, "Authentication required", 0, sameKey},
	wire.ProblemCodeInsufficientFunds:        {http.StatusPaymentRequired, "Insufficient funds", 0, newKeyIfStored},
	wire.ProblemCodeCardDeclined:             {http.StatusPaymentRequired, "Card declined", 0, newKeyIfStored},
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
	wire.ProblemCodePreconditionFailed:       {http.StatusPreconditionFailed, "Precondition failed", 0, noKey},
	wire.ProblemCodePreconditionRequired:     {http.StatusPreconditionRequired, "Precondition required", 0, noKey},
	wire.ProblemCodeValidationFailed:         {http.StatusUnprocessableEntity, "Validation failed", 0, newKeyIfStored},
	wire.ProblemCodeUnknownSKU:               {http.StatusUnprocessableEntity, "Unknown SKU", 0, newKeyIfStored},
	wire.ProblemCodeMixedCurrencies:          {http.StatusUnprocessableEntity, "Mixed currencies", 0, newKeyIfStored},
	wire.ProblemCodeMixedSellers:             {http.StatusUnprocessableEntity, "Mixed sellers", 0, newKeyIfStored},
	wire.ProblemCodePaymentMethodUnavailable: {http.StatusUnprocessableEntity, "Payment method unavailable", 0, newKeyIfStored},
	wire.ProblemCodeRateLimited:              {http.StatusTooManyRequests, "Too many requests", 10, sameKey},
	wire.ProblemCodeInternal:                 {http.StatusInternalServerError, "Internal error", 0, sameKey},
	wire.ProblemCodeUnavailable:              {http.StatusServiceUnavailable, "Service unavailable", 5, sameKey},
	wire.ProblemCodeOutcomeUnknown:           {http.StatusServiceUnavailable, "Outcome unknown", 2, sameKey},
}

// problem refuses a request. It is an error inside the adapter and an RFC 9457 document
// for the client, so it contains nothing that the client must not know (AUTH-16,
// AUTH-18).
type problem struct {
	code   wire.ProblemCode
	detail string
	errors []wire.FieldError
	// stored reports that the guard stores the refusal under the key of the request.
	stored bool
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

// unknownWithoutKey returns the problem of a request without a key whose outcome is unknown.
// Only a request that can be repeated without harm is retryable.
func unknownWithoutKey(rt route) *problem {
	p := newProblem(wire.ProblemCodeOutcomeUnknown, "the outcome of the request is unknown; read the resource to learn it")
	if rt.repeat == unrepeatable {
		p.header.Del("Retry-After")
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
		Retryable: p.header.Get("Retry-After") != "",
		Errors:    p.errors,
	}
	if entry.guarded {
		document.NextKey = kind.next.wire(p.stored)
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
