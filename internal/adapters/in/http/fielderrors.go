package httpapi

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"example.com/orders/internal/adapters/in/http/wire"
)

// maxFieldErrors bounds the size of a response: a body of 64 KiB has room for thousands
// of unknown members.
const maxFieldErrors = 100

// fieldErrors returns one entry for each invalid member, sorted by pointer, so that
// equal bodies get equal responses.
func fieldErrors(invalid *jsonschema.ValidationError) []wire.FieldError {
	return tidy(collect(nil, invalid))
}

// tidy sorts the entries, and bounds their number: one for each pointer.
func tidy(fields []wire.FieldError) []wire.FieldError {
	slices.SortFunc(fields, func(a, b wire.FieldError) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Detail, b.Detail))
	})
	fields = slices.CompactFunc(fields, func(a, b wire.FieldError) bool { return a.Pointer == b.Pointer })
	return fields[:min(len(fields), maxFieldErrors)]
}

// collect adds the leaves of the validator's tree, which are the violated rules.
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
		return unknownMembers(fields, e, k.Properties)
	}
	return append(fields, wire.FieldError{Pointer: pointer(e.InstanceLocation), Detail: ruleText(e.ErrorKind)})
}

// eachMember adds an entry for each member where the validator reports the whole
// object.
func eachMember(fields []wire.FieldError, e *jsonschema.ValidationError, names []string, detail string) []wire.FieldError {
	for _, name := range names {
		location := append(slices.Clone(e.InstanceLocation), name)
		fields = append(fields, wire.FieldError{Pointer: pointer(location), Detail: detail})
	}
	return fields
}

// maxName is the length of the longest name that is repeated, far beyond those of the
// contract.
const maxName = 64

const unknownMember = "is not a known member"

// isPrivate reports whether a name may be a secret or a person's: it looks like a token, an
// e-mail address or a card number. It must not be repeated.
func isPrivate(name string) bool {
	return len(name) > maxName || strings.Contains(name, "@") || hasCardNumber(name)
}

// unknownMembers adds an entry for each unknown member. It leaves out private names: the
// entry is about the object then.
func unknownMembers(fields []wire.FieldError, e *jsonschema.ValidationError, names []string) []wire.FieldError {
	plain := slices.DeleteFunc(slices.Clone(names), isPrivate)
	if len(plain) < len(names) {
		fields = append(fields, wire.FieldError{Pointer: pointer(e.InstanceLocation), Detail: "has a member that is not known"})
	}
	return eachMember(fields, e, plain, unknownMember)
}

// ruleText says what the contract requires. The validator's own messages would quote
// the value (AUTH-16).
func ruleText(rule jsonschema.ErrorKind) string {
	switch k := rule.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "must be one of " + strings.Join(each(k.Want, func(v any) string { return fmt.Sprint(v) }), ", ")
	case *kind.Pattern:
		return "must match " + k.Want
	case *kind.MinLength:
		return "must have at least " + count(k.Want, "character")
	case *kind.MaxLength:
		return "must have at most " + count(k.Want, "character")
	case *kind.MinItems:
		return "must have at least " + count(k.Want, "item")
	case *kind.MaxItems:
		return "must have at most " + count(k.Want, "item")
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	}
	return "is invalid"
}

// count returns "1 item" or "2 items".
func count(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}

// pointerEscapes are the characters with a meaning in a JSON pointer (RFC 6901).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer returns the location of a member as a JSON pointer in a URI fragment.
func pointer(location []string) string {
	var p strings.Builder
	for _, token := range location {
		p.WriteString("/" + pointerEscapes.Replace(token))
	}
	return fragment(p.String())
}

// fragment returns a JSON pointer as a URI fragment, the form of RFC 9457: "/a b" is
// "#/a%20b".
func fragment(pointer string) string {
	return "#" + (&url.URL{Fragment: pointer}).EscapedFragment()
}
