package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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

// FuzzRead checks with encoding/json as the reference that a value is valid exactly if it
// is one value without duplicate members in UTF-8, and that a value that is read is valid
// and within the bounds, as is its canonical form.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"alg":"ES256"}`, `{"alg":"none","alg":"ES256"}`, `{"alg":1,"\u0061lg":2}`, `{"a":{"b":[{"c":1,"c":1}]}}`,
		`{"sub":"\ud800"}`, `{"sub":"\ud83d\ude00"}`, `{"sub":"\\ud800"}`, "{\"sub\":\"\xff\"}", `{} {}`, ``, `7`, "\ufeff{}",
		`[[[[1e999]]]]`, `{"change":1e3,"reason":""}`, `{"change":-0}`, `{"&<>":1}`, `{}x`, `-0`, `0.1e-30`, `[1,2.50,{"b":0,"a":null}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		strict := strictShape(text).strict && utf8.Valid(text) && !hasLoneSurrogate(string(text))
		if IsValid(text) != strict {
			t.Fatalf("%q: valid = %t, want %t", text, !strict, strict)
		}
		if _, err := Read(text); err != nil {
			return
		}
		canonical, err := Canonicalize(text)
		shape := strictShape(canonical)
		if err != nil || !strict || !shape.strict || shape.values > MaxValues || shape.depth > MaxDepth {
			t.Errorf("%q became %q: %+v, %v", text, canonical, shape, err)
		}
	})
}

// shape is what another parser sees of JSON.
type shape struct {
	// strict reports that it is one value without duplicate members.
	strict        bool
	values, depth int
}

// strictShape reads JSON with encoding/json, which replaces invalid UTF-8 and lone surrogates.
func strictShape(text []byte) shape {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var s shape
	s.strict = s.readValue(d, 0)
	_, err := d.Token()
	s.strict = s.strict && errors.Is(err, io.EOF)
	return s
}

// readValue reports whether the next value has no duplicate member.
func (s *shape) readValue(d *json.Decoder, depth int) bool {
	token, err := d.Token()
	if err != nil {
		return false
	}
	s.values, s.depth = s.values+1, max(s.depth, depth)
	opening, isContainer := token.(json.Delim)
	if !isContainer {
		return true
	}
	names := map[string]bool{}
	for d.More() {
		if opening == '{' && !isNewName(d, names) || !s.readValue(d, depth+1) {
			return false
		}
	}
	_, err = d.Token()
	return err == nil
}

// isNewName reads the name of a member, and reports whether it is new.
func isNewName(d *json.Decoder, names map[string]bool) bool {
	token, err := d.Token()
	name, ok := token.(string)
	known := names[name]
	names[name] = true
	return err == nil && ok && !known
}

// surrogates matches an escaped backslash, a pair of escaped surrogates, or a lone one.
var surrogates = regexp.MustCompile(`(?i)\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}`)

func hasLoneSurrogate(text string) bool {
	return slices.ContainsFunc(surrogates.FindAllString(text, -1), func(s string) bool { return len(s) == len(`\ud800`) })
}
