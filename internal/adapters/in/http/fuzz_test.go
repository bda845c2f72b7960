package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"example.com/orders/internal/adapters/in/http/wire"
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
