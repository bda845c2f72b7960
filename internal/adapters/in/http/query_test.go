package httpapi

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
	known := []string{"limit", "customer_id", "reference"}
	const number = "4242424242424242"
	for name, c := range map[string]struct {
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
			if diff := cmp.Diff(c.want, fieldsOf(t, checkQuery(c.query, known))); diff != "" {
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
	if got := fieldsOf(t, checkQuery(query.Encode(), nil)); len(got) != maxFieldErrors {
		t.Errorf("got %d entries", len(got))
	}
}

// No guarded operation has a parameter in its query.
func TestGuardedCommand_UnknownQueryParameterLeavesKeyFree(t *testing.T) {
	t.Parallel()
	for operation, rt := range guardedRoutes(t) {
		path := strings.NewReplacer("{order_id}", "1041", "{customer_id}", "sber-42", "{sku}", "tea").Replace(rt.pattern)
		response, claims := postCounted(t, rt, path+"?dry_run=1", validBodies[operation])
		if code := problemCode(t, response); code != wire.ProblemCodeValidationFailed || claims != 0 {
			t.Errorf("%s: got %q and %d claims, want validation_failed and none", path, code, claims)
		}
	}
}

// FuzzQuery checks that a query is accepted exactly if it names known parameters, each once.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"limit=5", "limit=5&limit=6", "a;b", "%zz", "reference=a%00", "=", "&&", "limit", "4242424242424242=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		known := []string{"limit", "reference"}
		err := checkQuery(raw, known)
		query, malformed := url.ParseQuery(raw)
		strict := malformed == nil
		for name, values := range query {
			strict = strict && len(values) == 1 && (name == "limit" || name == "reference")
		}
		if (err == nil) != strict {
			t.Errorf("%q: got %v, want accepted = %t", raw, err, strict)
		}
		if err != nil && codeOf(err) != wire.ProblemCodeValidationFailed {
			t.Errorf("%q: got %v", raw, err)
		}
	})
}
