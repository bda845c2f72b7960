package contract

import (
	"errors"
	"slices"
	"testing"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
)

// FuzzCheck checks that the canonical form of an accepted body is a fixed point, and that
// every refusal is a small problem document.
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
		if !c.HasBody(operation) {
			t.Skip()
		}
		canonical, err := c.Check(operation, body)
		if err != nil {
			wantSmallProblem(t, body, err)
			return
		}
		if len(canonical) > 4*len(body)+len("{}") {
			t.Errorf("%q became %q", body, canonical)
		}
		twice, err := c.Check(operation, canonical)
		if err != nil || string(twice) != string(canonical) {
			t.Errorf("%s is canonical, but its canonical form is %s, %v", canonical, twice, err)
		}
	})
}

// wantSmallProblem checks the refusal of a body. An entry of errors can be six times as
// long as the member that it names, because of escapes.
func wantSmallProblem(t *testing.T, body []byte, err error) {
	t.Helper()
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok || !slices.Contains([]wire.ProblemCode{wire.ProblemCodeMalformedRequest, wire.ProblemCodeValidationFailed}, p.Code) {
		t.Fatalf("got %v, want malformed_request or validation_failed", err)
	}
	if named := len(p.Errors) > 0; named != (p.Code == wire.ProblemCodeValidationFailed) || len(p.Errors) > maxFieldErrors {
		t.Errorf("%s names %d members", p.Code, len(p.Errors))
	}
	if n := len(p.Document("", "/", false)); n > 6*len(body)+32<<10 {
		t.Errorf("a body of %d bytes is refused with %d bytes", len(body), n)
	}
}
