package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"
)

// FuzzIsValid checks with encoding/json as the reference that a value is valid exactly if it
// is one value without duplicate members in UTF-8, as is its canonical form.
func FuzzIsValid(f *testing.F) {
	for _, text := range []string{
		`{"alg":"ES256"}`, `{"alg":"none","alg":"ES256"}`, `{"alg":1,"\u0061lg":2}`, `{"a":{"b":[{"c":1,"c":1}]}}`,
		`{"sub":"\ud800"}`, `{"sub":"\ud83d\ude00"}`, `{"sub":"\\ud800"}`, "{\"sub\":\"\xff\"}", `{} {}`, ``, `7`, "\ufeff{}",
		`[[[[1e999]]]]`, `{"change":1e3,"reason":""}`, `{"change":-0}`, `{"&<>":1}`, `{}x`, `-0`, `0.1e-30`, `[1,2.50,{"b":0,"a":null}]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		strict := isStrict(text) && utf8.Valid(text) && !hasLoneSurrogate(string(text))
		if IsValid(text) != strict {
			t.Fatalf("%q: valid = %t, want %t", text, !strict, strict)
		}
		if canonical, err := Canonicalize(bytes.Clone(text)); strict && (err != nil || !isStrict(canonical)) {
			t.Errorf("%q became %q: %v", text, canonical, err)
		}
	})
}

// isStrict reports whether text is one value without duplicate members, as encoding/json reads
// it, which replaces invalid UTF-8 and lone surrogates.
func isStrict(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	strict := readValue(d)
	_, err := d.Token()
	return strict && errors.Is(err, io.EOF)
}

// readValue reports whether the next value has no duplicate member.
func readValue(d *json.Decoder) bool {
	token, err := d.Token()
	if err != nil {
		return false
	}
	opening, isContainer := token.(json.Delim)
	if !isContainer {
		return true
	}
	names := map[string]bool{}
	for d.More() {
		if opening == '{' && !isNewName(d, names) || !readValue(d) {
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
