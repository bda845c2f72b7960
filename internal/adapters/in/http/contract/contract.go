// Package contract checks requests and routes against api/openapi.yaml.
package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/strictjson"
	"example.com/orders/internal/adapters/in/http/wire"
)

// Contract is api/openapi.yaml: operations, query parameter names and body schemas,
// which are compiled once at start.
type Contract struct {
	operations []Operation
	bodies     map[string]bodyRule // by operationId
	queries    map[string][]string // names of the parameters, by operationId
}

// bodyRule is the contract for an operation's body.
type bodyRule struct {
	required bool
	schema   *jsonschema.Schema
	choice   choice
}

// contractURL names the file for the schema compiler, which fetches nothing.
const contractURL = "openapi.yaml"

// Embedded parses this binary's contract once per process, because tests start hundreds
// of services.
var Embedded = sync.OnceValues(func() (*Contract, error) { return Parse(openapi.OpenAPI) })

// Parse parses an OpenAPI document and compiles its body schemas.
func Parse(file []byte) (*Contract, error) {
	compiler, err := schemaCompiler(file)
	if err != nil {
		return nil, fmt.Errorf("parse the contract: %w", err)
	}
	var doc openAPI
	if err := yaml.Unmarshal(file, &doc); err != nil {
		return nil, fmt.Errorf("parse the contract: %w", err)
	}
	c := &Contract{operations: doc.operations(), bodies: map[string]bodyRule{}, queries: map[string][]string{}}
	for _, item := range doc.Paths {
		for _, op := range item.operations() {
			c.queries[op.ID] = doc.queryParameters(slices.Concat(item.Parameters, op.Parameters))
			if err := c.addBody(compiler, &doc, op); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// schemaCompiler returns a compiler that knows the whole file as one JSON Schema
// resource, because its schemas refer to each other by their place in it.
func schemaCompiler(file []byte) (*jsonschema.Compiler, error) {
	var document map[string]any
	if err := yaml.Unmarshal(file, &document); err != nil {
		return nil, err
	}
	inlineReferences(document, document["components"])
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	return compiler, compiler.AddResource(contractURL, document)
}

// inlineReferences returns a document node with its schema references replaced by the
// schemas, so that the validator need not follow them for each value.
func inlineReferences(document map[string]any, node any) any {
	switch node := node.(type) {
	case map[string]any:
		if schema := referenced(document, node); schema != nil {
			return inlineReferences(document, schema)
		}
		for name, member := range node {
			node[name] = inlineReferences(document, member)
		}
	case []any:
		for i, element := range node {
			node[i] = inlineReferences(document, element)
		}
	}
	return node
}

// referenced returns the schema that a node stands for: one that is a reference and nothing
// else.
func referenced(document, node map[string]any) any {
	ref, _ := node["$ref"].(string)
	components, _ := document["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	name, isSchema := strings.CutPrefix(ref, "#/components/schemas/")
	if !isSchema || len(node) != 1 {
		return nil
	}
	return schemas[name]
}

func (c *Contract) addBody(compiler *jsonschema.Compiler, doc *openAPI, op *operationObject) error {
	if op.RequestBody.Content == nil {
		return nil
	}
	ref := op.RequestBody.Content["application/json"].Schema.Ref
	schema, err := compiler.Compile(contractURL + ref)
	if err != nil {
		return fmt.Errorf("compile the body of %s: %w", op.ID, err)
	}
	named := doc.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	choice, err := compileChoice(compiler, named.Discriminator)
	if err != nil {
		return fmt.Errorf("compile the body of %s: %w", op.ID, err)
	}
	c.bodies[op.ID] = bodyRule{required: op.RequestBody.Required, schema: schema, choice: choice}
	return nil
}

// HasBody reports whether an operation's requests have a body at all.
func (c *Contract) HasBody(operationID string) bool {
	_, ok := c.bodies[operationID]
	return ok
}

// Check validates a body against an operation's contract and returns its canonical form
// (RFC 8785): bodies with the same meaning are equal bytes. A refusal repeats only
// member names (AUTH-16). Card numbers must be neither hashed nor stored. Check
// searches for them after validation, because the search is slow in a long text.
//
// Refusals: malformed_request, validation_failed.
func (c *Contract) Check(operationID string, body []byte) ([]byte, error) {
	rule, ok := c.bodies[operationID]
	if !ok {
		return nil, fmt.Errorf("the contract has no body for %q", operationID)
	}
	if len(body) == 0 && !rule.required {
		body = []byte("{}") // no body means a body without members
	}
	value, err := strictjson.Read(body)
	if err != nil {
		return nil, problem.New(wire.ProblemCodeMalformedRequest, err.Error())
	}
	if err := rule.validate(value); err != nil {
		return nil, err
	}
	if fields := cardNumbersIn(nil, value); fields != nil {
		return nil, problem.Invalid(tidy(fields)...)
	}
	return strictjson.Canonicalize(body)
}

func (r bodyRule) validate(value any) error {
	if r.choice.member != "" {
		return r.choice.validate(value)
	}
	return validate(r.schema, value)
}

func validate(schema *jsonschema.Schema, value any) error {
	err := schema.Validate(value)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return problem.Invalid(tidy(collect(nil, invalid))...)
	}
	return err
}
