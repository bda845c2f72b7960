package contract

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/in/http/wire"
)

func TestCheckQuery_NamesEachParameter(t *testing.T) {
	t.Parallel()
	c := &Contract{queries: map[string][]string{"list": {"limit", "customer_id", "reference"}}}
	const number = "4242424242424242"
	for name, test := range map[string]struct {
		query string
		want  []wire.FieldError
	}{
		"nothing":                     {"", nil},
		"known":                       {"limit=5&reference=a%20b", nil},
		"unknown":                     {"limt=5", fields("#/limt", "is not a known parameter")},
		"unknown, without value":      {"x", fields("#/x", "is not a known parameter")},
		"in other letters":            {"Limit=5", fields("#/Limit", "is not a known parameter")},
		"several":                     {"b=1&limit=5&a=2", fields("#/a", "is not a known parameter", "#/b", "is not a known parameter")},
		"twice":                       {"limit=5&limit=5", fields("#/limit", "must not be repeated")},
		"twice by escape":             {"limit=5&%6Cimit=6", fields("#/limit", "must not be repeated")},
		"a card number as a name":     {number + "=1", fields("#", "has a parameter that is not known")},
		"an e-mail address as a name": {"anna@example.com=1", fields("#", "has a parameter that is not known")},
		"a token as a name":           {strings.Repeat("x", 65) + "=1", fields("#", "has a parameter that is not known")},
		"a name with escapes":         {"a%2Fb~c=1", fields("#/a~1b~0c", "is not a known parameter")},
		"no percent-encoding":         {"limit=%zz", fields("#", "the query must be name=value pairs, percent-encoded, with & between them")},
		"semicolons":                  {"limit=5;reference=a", fields("#", "the query must be name=value pairs, percent-encoded, with & between them")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, fieldsOf(t, c.CheckQuery("list", test.query))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCheckQuery_BoundsTheNumberOfErrors(t *testing.T) {
	t.Parallel()
	query := url.Values{}
	for i := range 1000 {
		query.Set(fmt.Sprint("p", i), "1")
	}
	if got := fieldsOf(t, new(Contract).CheckQuery("list", query.Encode())); len(got) != maxFieldErrors {
		t.Errorf("got %d entries", len(got))
	}
}
