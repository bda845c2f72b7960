package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"example.com/orders/api"
)

// example is what the reference page sends when somebody opens an operation and presses
// Execute: the first example of the body, and the examples of the path.
type example struct {
	method, path, role, body string
	guarded                  bool
}

// examples returns the example of each operation that needs a token.
func examples(t *testing.T) map[string]example {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	var text yaml.Node
	if err := yaml.Unmarshal(api.OpenAPI, &text); err != nil {
		t.Fatal(err)
	}
	found := map[string]example{}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			roles, ok := operation.Extensions["x-roles"].([]any)
			if !ok {
				continue
			}
			e := example{method: method, path: path, role: fmt.Sprint(roles[0])}
			if operation.RequestBody != nil {
				e.body = firstExample(t, &text, "paths", path, strings.ToLower(method), "requestBody", "content", "application/json", "examples")
			}
			for _, p := range slices.Concat(item.Parameters, operation.Parameters) {
				e.guarded = e.guarded || p.Value.Name == "Idempotency-Key"
				e.path = strings.ReplaceAll(e.path, "{"+p.Value.Name+"}", fmt.Sprint(p.Value.Example))
			}
			found[operation.OperationID] = e
		}
	}
	return found
}

// firstExample returns the first of the examples at a path of the contract, as JSON. Only
// the text has an order.
func firstExample(t *testing.T, text *yaml.Node, path ...string) string {
	t.Helper()
	node := text.Content[0]
	for _, name := range path {
		i := slices.IndexFunc(node.Content, func(n *yaml.Node) bool { return n.Value == name })
		if i < 0 {
			t.Fatalf("the contract has no %s", strings.Join(path, " "))
		}
		node = node.Content[i+1]
	}
	var first struct{ Value any }
	if err := node.Content[1].Decode(&first); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(first.Value)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// The operations in the order of a customer, a seller and an administrator who try them.
var sensibleOrder = []string{
	"listProducts", "getProduct", "putProduct", "adjustStock",
	"createOrder", "listOrders", "getOrderById", "reserveInventory", "confirmPayment", "listPayments", "searchPayments", "getPayment",
	"refundPayment", "getRefund", "updateOrderStatus", "cancelOrder",
	"getBalance", "creditBalance", "chargeBalance", "listBalanceTransactions",
	"updateCustomerProfile", "getCustomerProfile", "deleteCustomerProfile",
	"createWebhookEndpoint", "listWebhookEndpoints", "getWebhookEndpoint", "updateWebhookEndpoint", "rotateWebhookSecret",
	"testWebhookEndpoint", "listWebhookDeliveries", "retryWebhookDelivery", "deleteWebhookEndpoint", "listAuditLog",
}

// Whoever presses Execute in a sensible order after the first start sees each operation
// work, with what the page fills in.
func wantExamplesToWork(t *testing.T, d *running) {
	t.Helper()
	all := examples(t)
	for _, id := range sensibleOrder {
		e, ok := all[id]
		if !ok {
			t.Errorf("the contract has no operation %s with roles", id)
			continue
		}
		header := http.Header{"Authorization": {"Bearer " + d.token(t, e.role)}}
		if e.body != "" {
			header.Set("Content-Type", "application/json")
		}
		if e.guarded {
			header.Set("Idempotency-Key", "key-of-"+id)
		}
		if got := d.send(t, e.method, e.path, header, e.body); got.status == 0 || got.status >= http.StatusMultipleChoices {
			t.Errorf("%s: %s %s %s: status %d: %s", id, e.method, e.path, e.body, got.status, got.body)
		}
	}
	for id := range all {
		if id != "getIdempotencyKey" && !slices.Contains(sensibleOrder, id) { // the page knows no key that was used
			t.Errorf("the operation %s is not tried", id)
		}
	}
}
