package core

import (
	"errors"
)

// Code is the stable name of a fault. Clients branch on it.
type Code string

// The fault codes that any use case may return; codes.go holds those specific to this
// business. The HTTP adapter owns the codes about tokens, keys and bodies.
const (
	CodeForbiddenResource    Code = "forbidden_resource"
	CodeNotFound             Code = "not_found"
	CodeIdempotencyKeyReused Code = "idempotency_key_reused"
	CodeValidationFailed     Code = "validation_failed"
)

// FieldFault describes an invalid member of a command. Pointer is an RFC 6901 JSON
// pointer, "/amount/currency".
type FieldFault struct {
	Pointer string
	Detail  string
}

// Fault is a refusal by the business. Detail is safe to show to clients: it names ids,
// amounts and statuses, but no causes and no personal data (AUTH-16, AUTH-18).
type Fault struct {
	Code   Code
	Detail string
	Fields []FieldFault
}

// Error returns the code and the detail.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Detail }

// Refuse returns a fault without field details.
func Refuse(code Code, detail string) *Fault { return &Fault{Code: code, Detail: detail} }

// NotFound refuses an unknown id.
func NotFound(what string) *Fault { return Refuse(CodeNotFound, "there is no such "+what) }

// RefusalOf converts [ErrNotFound] and [ErrNotGranted] into not_found and
// forbidden_resource. It returns any other error unchanged.
func RefusalOf(err error, what string) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return NotFound(what)
	case errors.Is(err, ErrNotGranted):
		return notOwned()
	}
	return err
}

// Forbidden refuses access to a resource that the actor does not own (AUTH-10).
func Forbidden(detail string) *Fault { return Refuse(CodeForbiddenResource, detail) }

func notOwned() *Fault { return Forbidden("the resource belongs to somebody else") }

// InvalidField refuses one member of a command.
func InvalidField(pointer, detail string) *Fault {
	return InvalidFields([]FieldFault{{Pointer: pointer, Detail: detail}})
}

// InvalidFields refuses members of a command.
func InvalidFields(fields []FieldFault) *Fault {
	f := Refuse(CodeValidationFailed, "the request is invalid; see errors")
	f.Fields = fields
	return f
}

// KeyReused is the refusal by the second line of defence: this key already completed
// the operation with a different request (AUTH-19).
func KeyReused() *Fault {
	return Refuse(CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request")
}

// The errors that stores return. Any other store error is a defect or an unexpected
// failure.
var (
	// ErrNotFound: no row has the requested key. Use cases convert it into a [Fault]
	// that names the missing resource.
	ErrNotFound = errors.New("not found")
	// ErrNotGranted: the row exists, but the [Grant] does not cover it. The row is not
	// locked. Use cases convert it into a [Fault].
	ErrNotGranted = errors.New("not granted")
	// ErrUnavailable: the store could not be reached or could not finish. It is
	// unchanged, and a retry can succeed.
	ErrUnavailable = errors.New("store unavailable")
	// ErrOutcomeUnknown: the answer to COMMIT was lost. The transaction was stored or
	// rolled back, and only the database knows which. A blind retry could do the work
	// twice; a retry with the same key is safe (AUTH-19).
	ErrOutcomeUnknown = errors.New("outcome of the commit unknown")
)
