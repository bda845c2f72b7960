package client_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	contract "example.com/orders/api"
	"example.com/orders/kit/client"
)

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
	source, err := os.ReadFile("../../../kit/client/problem.go")
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
			client.OrderCancelled, client.OrderDelivered, client.OrderFulfilling, client.OrderPaid, client.OrderPaymentProcessing, client.OrderPendingPayment, client.OrderShipped,
		},
		"PaymentStatus": {client.PaymentCaptured, client.PaymentFailed, client.PaymentProcessing},
		"RefundStatus":  {client.RefundFailed, client.RefundPending, client.RefundSucceeded},
		"ProblemCode":   codes(t),
	} {
		if diff := cmp.Diff(extensible(t, schema), constants); diff != "" {
			t.Errorf("%s (-contract +constants):\n%s", schema, diff)
		}
	}
}
