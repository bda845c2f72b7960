package contract

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/strictjson"
)

// detailOf returns the text of a refusal, empty without one.
func detailOf(err error) string {
	if p, ok := errors.AsType[*problem.Problem](err); ok {
		return p.Detail
	}
	return ""
}

func TestRead_SaysWhereTheMistakeIs(t *testing.T) {
	t.Parallel()
	const malformed, incomplete = "the body must be one JSON value in UTF-8", "the body ends before its JSON value is complete"
	for name, c := range map[string]struct{ body, want string }{
		"nothing":               {"", incomplete + " (line 1, column 1)"},
		"only white space":      {"\n ", incomplete + " (line 2, column 2)"},
		"cut short":             {"{\"a\":\n\"b", incomplete + " (line 2, column 3)"},
		"an open object":        {`{"a":1`, incomplete + " (line 1, column 7)"},
		"text":                  {"amount=1", malformed + " (line 1, column 1)"},
		"a comma too many":      {"{\n  \"a\": 1,\n}", malformed + " (line 2, column 9)"},
		"a comma too few":       {`{"a":1 "b":2}`, malformed + " (line 1, column 8)"},
		"after Cyrillic":        {`{"имя":x}`, malformed + " (line 1, column 8)"},
		"a duplicate member":    {"{\"a\":1,\r\n \"a\":2}", "the body contains a duplicate member (line 2, column 2)"},
		"data after the end":    {"{}\n {}", "unexpected data after the JSON value (line 2, column 2)"},
		"text after the end":    {"{}x", "unexpected data after the JSON value (line 1, column 3)"},
		"a number too large":    {`{"a":1e999}`, "the body contains a number that is too large or too precise (line 1, column 11)"},
		"an array too deep":     {strings.Repeat("[", maxDepth+1), "the body must not be nested deeper than 16 levels (line 1, column 18)"},
		"one value too many":    {"[" + strings.Repeat("0,", maxValues), "the body must not have more than 500 values (line 1, column 1001)"},
		"an invalid byte":       {"{\"a\":\"\xff\"}", malformed + " (line 1, column 7)"},
		"an unpaired surrogate": {`{"a":"\ud800"}`, malformed + " (line 1, column 7)"},
	} {
		if _, err := read(nil, []byte(c.body)); detailOf(err) != c.want {
			t.Errorf("%s: got %q, want %q", name, detailOf(err), c.want)
		}
	}
}

// permutations returns all orders of members.
func permutations(members []string) [][]string {
	if len(members) < 2 {
		return [][]string{members}
	}
	var all [][]string
	for i, first := range members {
		for _, rest := range permutations(slices.Delete(slices.Clone(members), i, i+1)) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}

// Equal requests have one fingerprint, whatever the order of their members. RFC 8785 orders
// names by UTF-16, in which an emoji precedes the last characters of the first plane.
func TestRead_WritesMembersInOneOrder(t *testing.T) {
	t.Parallel()
	for _, want := range []string{
		`{"a":1,"b":2}`,
		`{"a":1,"b":2,"c":3}`,
		`{"a":1,"b":2,"c":{"x":1}}`,
		`{"A":0,"a":1,"b":[{"p":1}],"c":2}`,
		"{\"a\":1,\"\U0001F600\":2,\"\uFF21\":3}",
	} {
		members := strings.Split(want[1:len(want)-1], ",")
		for _, order := range permutations(members) {
			body := "{" + strings.Join(order, ", ") + "}"
			for _, nested := range []string{"%", `[%,{"z":%}]`} {
				got, err := read(nil, []byte(strings.ReplaceAll(nested, "%", body)))
				if canonical := strings.ReplaceAll(nested, "%", want); string(got) != canonical || err != nil {
					t.Errorf("%s is read as %s, want %s; %v", body, got, canonical, err)
				}
			}
		}
	}
}

// FuzzRead checks that a body is read exactly if it is valid JSON within the bounds.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"a":{"b":[{"c":1,"c":1}]}}`, `{"sub":"\ud800"}`, "{\"sub\":\"\xff\"}", `{} {}`, ``, `7`, "\ufeff{}",
		`[[[[1e999]]]]`, `{"change":1e3,"reason":""}`, `{"&<>":1}`, `{}x`, `-0`, `0.1e-30`, `[1,2.50,{"b":0,"a":null}]`,
	} {
		f.Add([]byte(text))
	}
	bounds := regexp.MustCompile("more than 500 values|deeper than 16 levels|too large or too precise")
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := read(nil, text)
		if want := strictjson.IsValid(text); (err == nil) != want && !bounds.MatchString(detailOf(err)) {
			t.Errorf("%q: got %v, want valid = %t", text, err, want)
		}
	})
}
