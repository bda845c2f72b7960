package contract

import (
	"maps"
	"net/url"
	"slices"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
)

// CheckQuery refuses unknown and repeated parameters: a misspelled filter would show
// everything, and of two values neither is the right one.
func (c *Contract) CheckQuery(operationID, rawQuery string) error {
	if rawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return problem.Invalid(wire.FieldError{Pointer: "#", Detail: "the query must be name=value pairs, percent-encoded, with & between them"})
	}
	var refused []wire.FieldError
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if field, wrong := parameterError(name, query[name], c.queries[operationID]); wrong {
			refused = append(refused, field)
		}
	}
	if refused == nil {
		return nil
	}
	return problem.Invalid(tidy(refused)...)
}

// parameterError returns the rule that a parameter violates, if there is one. It does not
// repeat a name that may be a person's or a secret.
func parameterError(name string, values, known []string) (field wire.FieldError, wrong bool) {
	field.Pointer = problem.Pointer(name)
	hidden := isPrivate(name)
	if hidden {
		field.Pointer = problem.Pointer()
	}
	switch {
	case hidden:
		field.Detail = "has a parameter that is not known"
	case !slices.Contains(known, name):
		field.Detail = "is not a known parameter"
	case len(values) > 1:
		field.Detail = "must not be repeated"
	}
	return field, field.Detail != ""
}
