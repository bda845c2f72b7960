package contract

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"example.com/orders/internal/adapters/in/http/cardnumber"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
)

// maxFieldErrors bounds the response: a 64 KiB body has room for thousands of unknown
// members.
const maxFieldErrors = 100

// tidy sorts the entries, so that equal bodies get equal responses, and bounds their
// number: one for each pointer.
func tidy(fields []wire.FieldError) []wire.FieldError {
	slices.SortFunc(fields, func(a, b wire.FieldError) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Detail, b.Detail))
	})
	fields = slices.CompactFunc(fields, func(a, b wire.FieldError) bool { return a.Pointer == b.Pointer })
	return fields[:min(len(fields), maxFieldErrors)]
}

// collect adds the leaves in the validator's tree, which are the violated rules.
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
	return append(fields, wire.FieldError{Pointer: problem.Pointer(e.InstanceLocation...), Detail: ruleText(e.ErrorKind)})
}

// eachMember adds an entry for each member where the validator reports the whole
// object.
func eachMember(fields []wire.FieldError, e *jsonschema.ValidationError, names []string, detail string) []wire.FieldError {
	for _, name := range names {
		location := append(slices.Clone(e.InstanceLocation), name)
		fields = append(fields, wire.FieldError{Pointer: problem.Pointer(location...), Detail: detail})
	}
	return fields
}

// maxName is the longest name that a response repeats, far longer than any in the
// contract.
const maxName = 64

const unknownMember = "is not a known member"

// isPrivate reports whether a name may be a secret or a person's: it looks like a token, an
// e-mail address or a card number. It must not be repeated.
func isPrivate(name string) bool {
	return len(name) > maxName || strings.Contains(name, "@") || cardnumber.In(name)
}

// unknownMembers adds an entry for each unknown member. It leaves out private names: the
// entry is about the object then.
func unknownMembers(fields []wire.FieldError, e *jsonschema.ValidationError, names []string) []wire.FieldError {
	plain := slices.DeleteFunc(slices.Clone(names), isPrivate)
	if len(plain) < len(names) {
		fields = append(fields, wire.FieldError{Pointer: problem.Pointer(e.InstanceLocation...), Detail: "has a member that is not known"})
	}
	return eachMember(fields, e, plain, unknownMember)
}

// ruleText returns the contract's requirement. The validator's messages would quote the
// value (AUTH-16).
func ruleText(rule jsonschema.ErrorKind) string {
	switch k := rule.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "must be one of " + enumText(k.Want)
	case *kind.Pattern:
		return cmp.Or(patternTexts[k.Want], "has a wrong format")
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

// patternTexts says in words what the contract's patterns require of a member.
var patternTexts = map[string]string{
	`^(0|[1-9][0-9]{0,14})(\.[0-9]{1,4})?$`: "must be at most 15 digits, a point, and at most the currency's decimals, such as 1999.00 for RUB",
	`^[A-Z]{3}$`:                            "must be an ISO 4217 currency code, such as RUB",
	`^[A-Za-z0-9._-]{1,64}$`:                "must be 1–64 characters of A-Z a-z 0-9 . _ -",
	`^[!-~]{1,255}$`:                        "must be 1–255 printable ASCII characters without spaces",
	`^[^\x00-\x1f\x7f]*$`:                   "must be a single line without control characters",
	`^pm_[A-Za-z0-9_]{1,255}$`:              "must be the ID of a Stripe payment method, such as pm_card_visa",
	`^\+[1-9][0-9]{6,14}$`:                  "must be a telephone number with its country code, such as +79161234567",
	`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})+$`: "must be an e-mail address, such as anna@example.com",
}

func enumText(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ", ")
}

// count returns "1 item" or "2 items".
func count(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}

// cardNumbersIn returns an entry for each text with a card number below a location in a
// valid body.
func cardNumbersIn(location []string, value any) (found []wire.FieldError) {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			found = append(found, cardNumbersIn(append(slices.Clip(location), name), member)...)
		}
	case []any:
		for i, element := range value {
			found = append(found, cardNumbersIn(append(slices.Clip(location), strconv.Itoa(i)), element)...)
		}
	case string:
		if len(location) > 0 && cardnumber.InMember(location[len(location)-1], value) {
			found = append(found, wire.FieldError{Pointer: problem.Pointer(location...), Detail: cardnumber.Refused})
		}
	}
	return found
}
