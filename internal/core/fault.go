package core

import "errors"

// Code is the stable name of a fault. Clients branch on it.
type Code string

// The codes of what any use case refuses; codes.go has those of this business. Codes about
// tokens, keys and bodies belong to the HTTP adapter.
const (
	CodeForbiddenResource    Code = "forbidden_resource"
	CodeNotFound             Code = "not_found"
	CodeIdempotencyKeyReused Code = "idempotency_key_reused"
	CodeValidationFailed     Code = "validation_failed"
)

// FieldFault describes what is wrong with one member of a command. Pointer is an RFC
// 6901 JSON pointer, "/amount/currency".
type FieldFault struct {
	Pointer string
	Detail  string
}

// Fault is a refusal by the business. Detail is safe to show to clients: it names
// ids, amounts and statuses, but no causes and no personal data (AUTH-16, AUTH-18).
type Fault struct {
	Code   Code
	Detail string
	Fields []FieldFault
}

// Error returns the code and the detail.
func (f *Fault) Error() string { return string(f.Code) + ": " + f.Detail }

// Refuse returns a fault without field details.
func Refuse(code Code, detail string) *Fault { return &Fault{Code: code, Detail: detail} }

// NotFound returns the refusal of an id that does not exist.
func NotFound(what string) *Fault { return Refuse(CodeNotFound, "there is no such "+what) }

// RefusalOf converts the errors [ErrNotFound] and [ErrNotGranted] of a store into the
// refusals not_found and forbidden_resource. It returns any other error unchanged.
func RefusalOf(err error, what string) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return NotFound(what)
	case errors.Is(err, ErrNotGranted):
		return notOwned()
	}
	return err
}

// Forbidden returns the refusal of a resource that the actor does not own (AUTH-10).
func Forbidden(detail string) *Fault { return Refuse(CodeForbiddenResource, detail) }

func notOwned() *Fault { return Forbidden("the resource belongs to somebody else") }

// InvalidField returns the refusal of one member of a command.
func InvalidField(pointer, detail string) *Fault {
	f := Refuse(CodeValidationFailed, "the request is invalid; see errors")
	f.Fields = []FieldFault{{Pointer: pointer, Detail: detail}}
	return f
}

// KeyReused returns the refusal of the second line of defence: the operation with this
// key was completed before, with a different request (AUTH-19).
func KeyReused() *Fault {
	return Refuse(CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request")
}
