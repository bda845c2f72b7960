package httpapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"example.com/orders/internal/adapters/in/http/wire"
)

// maxFieldErrors bounds an answer: a body of 64 KiB has room for thousands of
// unknown members.
const maxFieldErrors = 100

// fieldErrors gives one entry for each member that breaks a rule, in the order of
// their pointers, so that equal bodies get equal answers.
func fieldErrors(invalid *jsonschema.ValidationError) []wire.FieldError {
	fields := collect(nil, invalid)
	slices.SortFunc(fields, func(a, b wire.FieldError) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Detail, b.Detail))
	})
	fields = slices.CompactFunc(fields, func(a, b wire.FieldError) bool { return a.Pointer == b.Pointer })
	return fields[:min(len(fields), maxFieldErrors)]
}

// collect walks to the leaves of the validator's tree, which are the broken rules.
func collect(fields []wire.FieldError, e *jsonschema.ValidationError) []wire.FieldError {
	for _, cause := range e.Causes {
		fields = collect(fields, cause)
	}
	if len(e.Causes) > 0 {
		return fields
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return eachMember(fields, e, k.Missing, "is required")
	case *kind.AdditionalProperties:
		return eachMember(fields, e, k.Properties, "is not a known member")
	}
	return append(fields, wire.FieldError{Pointer: pointer(e.InstanceLocation), Detail: ruleText(e.ErrorKind)})
}

// eachMember blames members of an object where the validator blames the object.
func eachMember(fields []wire.FieldError, e *jsonschema.ValidationError, names []string, detail string) []wire.FieldError {
	for _, name := range names {
		location := append(slices.Clone(e.InstanceLocation), name)
		fields = append(fields, wire.FieldError{Pointer: pointer(location), Detail: detail})
	}
	return fields
}

// ruleText says what the contract wants. The validator's own messages would quote
// what it got.
func ruleText(rule jsonschema.ErrorKind) string {
	switch k := rule.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "must be one of " + strings.Trim(fmt.Sprint(k.Want), "[]")
	case *kind.Pattern:
		return "must match " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items", k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.Not:
		return "does not belong here"
	}
	return "does not satisfy the contract"
}

// pointer writes a place in a body as RFC 9457 wants it.
func pointer(location []string) string {
	var p jsontext.Pointer
	for _, token := range location {
		p = p.AppendToken(token)
	}
	return fragment(string(p))
}
