package client

import (
	"errors"
	"net/http"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	contract "example.com/orders/api"
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
	if diff := cmp.Diff(want, problem); !ok || diff != "" {
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

// extensible returns the values of a schema of the contract that may gain others.
func extensible(t *testing.T, schema string) []string {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Values []string `yaml:"x-extensible-enum"`
			}
		}
	}
	if err := yaml.Unmarshal(contract.OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(document.Components.Schemas[schema].Values))
}

// codes returns the codes that problem.go declares, sorted.
func codes(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("problem.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, match := range regexp.MustCompile(`Code = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		found = append(found, match[1])
	}
	return slices.Sorted(slices.Values(found))
}

func TestConstants_AreThoseOfTheContract(t *testing.T) {
	for schema, constants := range map[string][]string{
		"OrderStatus": {
			OrderCancelled, OrderDelivered, OrderFulfilling, OrderPaid, OrderPaymentProcessing, OrderPendingPayment, OrderShipped,
		},
		"PaymentStatus": {PaymentCaptured, PaymentFailed, PaymentProcessing},
		"RefundStatus":  {RefundFailed, RefundPending, RefundSucceeded},
		"ProblemCode":   codes(t),
	} {
		if diff := cmp.Diff(extensible(t, schema), constants); diff != "" {
			t.Errorf("%s (-contract +constants):\n%s", schema, diff)
		}
	}
}
