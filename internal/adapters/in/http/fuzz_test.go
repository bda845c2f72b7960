package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// FuzzCheck checks that an accepted body is unambiguous and within the bounds, that its
// canonical form is a fixed point, and that every refusal is a small problem document.
func FuzzCheck(f *testing.F) {
	c := testContract(f)
	for _, body := range []string{
		`{"items":[{"sku":"tea","quantity":2}]}`, `{"items":[{"sku":"tea","quantity":2.0}],"customer_id":"\u0041"}`,
		`{"amount":{"amount":"1.50","currency":"RUB"},"description":"é\t","reference":"4242 4242 4242 4242"}`,
		`{"method":"card","payment_method":"pm_1"}`, `{"a":1,"a":2}`, `{"a":{"b":1,"\u0062":2}}`, `[[[[1e999]]]]`,
		`{"reason":"\ud800"}`, `{"items":[{},{},[]]}`, `{"change":1e3,"reason":""}`, `{"change":-0}`, `{"&<>":1}`, `{}x`, ``, `-0`,
	} {
		for _, operation := range []string{"createOrder", "creditBalance", "confirmPayment", "cancelOrder", "adjustStock"} {
			f.Add(operation, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, operation string, body []byte) {
		if !c.hasBody(operation) {
			t.Skip()
		}
		canonical, err := c.check(operation, body)
		if err != nil {
			wantSmallProblem(t, body, err)
			return
		}
		shape := strictShape(canonical)
		if !shape.strict || shape.values > maxValues || shape.depth > maxDepth || len(canonical) > 4*len(body)+len("{}") {
			t.Errorf("%q became %q: %+v", body, canonical, shape)
		}
		twice, err := c.check(operation, canonical)
		if err != nil || string(twice) != string(canonical) {
			t.Errorf("%s is canonical, but its canonical form is %s, %v", canonical, twice, err)
		}
	})
}

// wantSmallProblem checks the refusal of a body. An entry of errors can be six times as
// long as the member that it names, because of escapes.
func wantSmallProblem(t *testing.T, body []byte, err error) {
	t.Helper()
	p, ok := errors.AsType[*problem](err)
	if !ok || !slices.Contains([]wire.ProblemCode{wire.ProblemCodeMalformedRequest, wire.ProblemCodeValidationFailed}, p.code) {
		t.Fatalf("got %v, want malformed_request or validation_failed", err)
	}
	if named := len(p.errors) > 0; named != (p.code == wire.ProblemCodeValidationFailed) || len(p.errors) > maxFieldErrors {
		t.Errorf("%s names %d members", p.code, len(p.errors))
	}
	if n := len(p.response(&logEntry{}, "/").body); n > 6*len(body)+32<<10 {
		t.Errorf("a body of %d bytes is refused with %d bytes", len(body), n)
	}
}

// shape is what another parser sees of JSON.
type shape struct {
	// strict reports that it is one value without duplicate members.
	strict        bool
	values, depth int
}

// strictShape reads JSON with encoding/json, which the service does not use for bodies.
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

// FuzzCursor checks that every text is a cursor as the service writes it or invalid, and
// that the service reads every cursor that it writes.
func FuzzCursor(f *testing.F) {
	f.Add("", int64(0), int64(1))
	f.Add("AAAAAAAAAAAAAAAAAAAAAA", int64(1_700_000_000_000_000), int64(1041))
	f.Add("AAAAAAAAAAAAAAAAAAAAAB", int64(-62_135_596_800_000_000), int64(math.MaxInt64))
	f.Add("AAAAAAAAAAA\nAAAAAAAAAAA", int64(math.MaxInt64), int64(-1))
	f.Fuzz(func(t *testing.T, text string, micro, id int64) {
		r := httptest.NewRequest("GET", "/orders?cursor="+url.QueryEscape(text), http.NoBody)
		page, err := decodePage(&request{http: r})
		if err != nil && (codeOf(err) != wire.ProblemCodeValidationFailed || fieldsOf(t, problemOf(err))[0].Pointer != "#/cursor") {
			t.Errorf("%q: got %v, want validation_failed at #/cursor", text, err)
		}
		if err == nil && *encodeCursor(&page.After) != text {
			t.Errorf("%q is read as the cursor %s", text, *encodeCursor(&page.After))
		}
		at := core.Position{CreatedAt: time.UnixMicro(micro).UTC(), ID: id}
		if year := at.CreatedAt.Year(); year < 1 || year > 9999 {
			return
		}
		if read, err := decodeCursor(*encodeCursor(&at)); err != nil || read != at {
			t.Errorf("%+v comes back as %+v, %v", at, read, err)
		}
	})
}

// FuzzStrictToken checks that a token is strict exactly if encoding/json finds one value
// without duplicate members in header and claims.
func FuzzStrictToken(f *testing.F) {
	for _, part := range []string{
		`{"alg":"ES256"}`, `{"alg":"none","alg":"ES256"}`, `{"alg":1,"\u0061lg":2}`, `{"a":{"b":[{"c":1,"c":1}]}}`,
		`{"sub":"\ud800"}`, `{"sub":"\ud83d\ude00"}`, `{"sub":"\\ud800"}`, "{\"sub\":\"\xff\"}", `{} {}`, ``, `7`, "\ufeff{}",
	} {
		f.Add([]byte(part), []byte(`{"sub":"sber-42"}`), ".c2ln")
		f.Add([]byte(`{"alg":"ES256"}`), []byte(part), "")
	}
	f.Add([]byte("{}"), []byte("{}"), "A.")
	f.Fuzz(func(t *testing.T, header, claims []byte, rest string) {
		token := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims) + rest
		if strings.ContainsAny(token, "\r\n") {
			t.Skip("no header contains line breaks")
		}
		parts := strings.Split(token, ".")
		want := len(parts) == 3 && isStrictPart(parts[0]) && isStrictPart(parts[1])
		if got := isStrictToken(token); got != want {
			t.Errorf("%s: strict = %t, want %t", token, got, want)
		}
	})
}

// isStrictPart is the reference for one part of a token. encoding/json replaces invalid
// UTF-8 and lone surrogates, so that they have to be looked for.
func isStrictPart(part string) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	canonical := base64.RawURLEncoding.EncodeToString(text) == part
	return err == nil && canonical && utf8.Valid(text) && strictShape(text).strict && !hasLoneSurrogate(string(text))
}

// surrogates matches an escaped backslash, a pair of escaped surrogates, or a lone one.
var surrogates = regexp.MustCompile(`(?i)\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}`)

func hasLoneSurrogate(text string) bool {
	return slices.ContainsFunc(surrogates.FindAllString(text, -1), func(s string) bool { return len(s) == len(`\ud800`) })
}
