// Package contract checks requests and routes against api/openapi.yaml.
package contract

import (
	"fmt"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	openapi "example.com/orders/api"
)

// Contract is api/openapi.yaml: operations, query parameter names and body schemas,
// which are read once at start.
type Contract struct {
	operations []Operation
	bodies     map[string]bodyRule // by operationId
	queries    map[string][]string // names of the parameters, by operationId
}

// bodyRule is the contract for an operation's body.
type bodyRule struct {
	required bool
	shape    *shape
}

// Embedded parses the embedded contract once per process, because tests start hundreds
// of services.
var Embedded = sync.OnceValues(func() (*Contract, error) { return Parse(openapi.OpenAPI) })

// Parse parses an OpenAPI document.
func Parse(file []byte) (*Contract, error) {
	var doc openAPI
	if err := yaml.Unmarshal(file, &doc); err != nil {
		return nil, fmt.Errorf("parse the contract: %w", err)
	}
	c := &Contract{operations: doc.operations(), bodies: map[string]bodyRule{}, queries: map[string][]string{}}
	for _, item := range doc.Paths {
		for _, op := range item.operations() {
			c.queries[op.ID] = doc.queryParameters(slices.Concat(item.Parameters, op.Parameters))
			if err := c.addBody(&doc, op); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

func (c *Contract) addBody(doc *openAPI, op *operationObject) error {
	if op.RequestBody.Content == nil || len(op.Roles) == 0 { // the provider defines the body of a webhook
		return nil
	}
	s, err := doc.shapeOf(op.RequestBody.Content["application/json"].Schema.Ref)
	if err != nil {
		return fmt.Errorf("the body of %s: %w", op.ID, err)
	}
	c.bodies[op.ID] = bodyRule{required: op.RequestBody.Required, shape: s}
	return nil
}

// HasBody reports whether an operation's requests have a body at all.
func (c *Contract) HasBody(operationID string) bool {
	_, ok := c.bodies[operationID]
	return ok
}

// Check checks a body against an operation's contract and returns the canonical form
// (RFC 8785): bodies with the same meaning are equal bytes. A refusal repeats only
// member names (AUTH-16).
//
// Refusals: malformed_request, validation_failed.
func (c *Contract) Check(operationID string, body []byte) ([]byte, error) {
	rule, ok := c.bodies[operationID]
	if !ok {
		return nil, fmt.Errorf("the contract has no body for %q", operationID)
	}
	if len(body) == 0 && !rule.required {
		body = []byte("{}") // no body means an empty object
	}
	return rule.shape.check(body)
}
