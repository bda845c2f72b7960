package strictjson

import (
	"strings"
	"testing"
)

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
		"an array too deep":     {strings.Repeat("[", MaxDepth+1), "the body must not be nested deeper than 16 levels (line 1, column 18)"},
		"one value too many":    {"[" + strings.Repeat("0,", MaxValues), "the body must not have more than 500 values (line 1, column 1001)"},
		"an invalid byte":       {"{\"a\":\"\xff\"}", malformed + " (line 1, column 7)"},
		"an unpaired surrogate": {`{"a":"\ud800"}`, malformed + " (line 1, column 7)"},
	} {
		if _, err := Read([]byte(c.body)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
