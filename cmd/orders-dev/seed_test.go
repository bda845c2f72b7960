package main

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"example.com/orders/api"
)

// Whoever tries the reference page beside orders-dev sends the examples of the contract:
// what they name has to exist.
func TestSeed_HasWhatTheContractNames(t *testing.T) {
	t.Parallel()
	var contract any
	if err := yaml.Unmarshal(api.OpenAPI, &contract); err != nil {
		t.Fatal(err)
	}
	known := map[string]string{"sku": seedSKU, "seller_id": seedSeller, "customer_id": seedCustomer}
	found := map[string]int{}
	eachExample(contract, func(name string, value any) {
		if want, ours := known[name]; ours {
			found[name]++
			if value != want {
				t.Errorf("an example has the %s %v; orders-dev knows %s", name, value, want)
			}
		}
	})
	for name := range known {
		if found[name] < 3 {
			t.Errorf("found %d examples with a %s", found[name], name)
		}
	}
}

// eachExample calls visit with the members of all examples, and with the examples of
// parameters.
func eachExample(node any, visit func(name string, value any)) {
	switch node := node.(type) {
	case map[string]any:
		if name, ok := node["name"].(string); ok && node["example"] != nil {
			visit(name, node["example"])
		}
		for name, child := range node {
			if _, isText := child.(string); isText {
				visit(name, child)
			}
			eachExample(child, visit)
		}
	case []any:
		for _, child := range node {
			eachExample(child, visit)
		}
	}
}
