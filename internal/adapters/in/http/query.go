package httpapi

import (
	"maps"
	"net/url"
	"slices"

	"example.com/orders/internal/adapters/in/http/wire"
)

// checkQuery refuses a query with parameters that the operation does not know, or with one
// that is repeated. No parameter has several values: whoever sends
// two would not know which one counts, and a misspelled filter would show everything.
func checkQuery(rawQuery string, known []string) error {
	if rawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return validationFailed([]wire.FieldError{{Pointer: "#", Detail: "the query must be name=value pairs, percent-encoded, with & between them"}})
	}
	var refused []wire.FieldError
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if field, wrong := parameterError(name, query[name], known); wrong {
			refused = append(refused, field)
		}
	}
	if refused == nil {
		return nil
	}
	return validationFailed(tidy(refused))
}

// parameterError returns the rule that a parameter violates, if there is one. It does not
// repeat a name that may be a person's or a secret.
func parameterError(name string, values, known []string) (field wire.FieldError, wrong bool) {
	field.Pointer = pointer([]string{name})
	hidden := isPrivate(name)
	if hidden {
		field.Pointer = pointer(nil)
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
