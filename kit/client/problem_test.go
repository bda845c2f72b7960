package client

import (
	"errors"
	"net/http"
	"testing"
)

func TestProblem_HasItsMembers(t *testing.T) {
	c, _ := newClient(t, refuses(http.StatusUnprocessableEntity, `
		"type": "https://orders.example.com/problems/validation_failed", "title": "Validation failed", "status": 422,
		"detail": "the request is invalid; see errors", "instance": "/orders", "code": "validation_failed", "request_id": "r-7",
		"retryable": false, "next_key": "new", "errors": [{"pointer": "#/items/0/quantity", "detail": "must be at least 1"}]`))
	_, err := order(t.Context(), c, "cart-1")
	problem, ok := errors.AsType[*Problem](err)
	want := &Problem{
		Code: ValidationFailed, Status: 422, Title: "Validation failed", Detail: "the request is invalid; see errors", NextKey: "new",
		RequestID: "r-7", Instance: "/orders", Errors: []FieldError{{Pointer: "#/items/0/quantity", Detail: "must be at least 1"}},
	}
	if diff := diffOf(want, problem); !ok || diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	const text = "cart-1 POST /orders: 422 validation_failed: the request is invalid; see errors; " +
		"#/items/0/quantity: must be at least 1 (request r-7)"
	if err.Error() != text {
		t.Errorf("error %q", err)
	}
	if !errors.Is(err, ValidationFailed) || errors.Is(err, OutOfStock) || !errors.Is(err, Code("validation_failed")) {
		t.Error("the code does not match")
	}
}
