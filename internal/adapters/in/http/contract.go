package httpapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/wire"
)

// contract is api/openapi.yaml: the operations, what their queries may name, and the schemas
// of their bodies, which are compiled once when the service starts.
type contract struct {
	operations []operation
	bodies     map[string]bodyRule // by operationId
	queries    map[string][]string // names of the parameters, by operationId
}

// bodyRule is what the contract says about the body of one operation.
type bodyRule struct {
	required bool
	schema   *jsonschema.Schema
	choice   choice
}

// contractURL is the name of the file for the schema compiler; nothing is fetched.
const contractURL = "openapi.yaml"

// embeddedContract parses the contract of this binary once for each process. A contract
// does not change, and tests start hundreds of services.
var embeddedContract = sync.OnceValues(func() (*contract, error) { return parseContract(openapi.OpenAPI) })

// parseContract parses an OpenAPI document and compiles the schemas of its bodies.
func parseContract(file []byte) (*contract, error) {
	compiler, err := schemaCompiler(file)
	if err != nil {
		return nil, fmt.Errorf("parse the contract: %w", err)
	}
	var doc openAPI
	if err := yaml.Unmarshal(file, &doc); err != nil {
		return nil, fmt.Errorf("parse the contract: %w", err)
	}
	c := &contract{operations: doc.operations(), bodies: map[string]bodyRule{}, queries: map[string][]string{}}
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

// inlineReferences returns a node of a document. It replaces references to schemas by the
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

func (c *contract) addBody(compiler *jsonschema.Compiler, doc *openAPI, op *operationObject) error {
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

// hasBody reports whether requests of an operation have a body at all.
func (c *contract) hasBody(operationID string) bool {
	_, ok := c.bodies[operationID]
	return ok
}

// check validates a body against the contract of an operation and returns its canonical
// form (RFC 8785): two bodies that mean the same are equal bytes. A refusal repeats
// nothing of the body but names of members (AUTH-16). Card numbers must be neither hashed
// nor stored. They are looked for in what the schema allows: the search takes long in a
// long text.
//
// Refusals: malformed_request, validation_failed.
func (c *contract) check(operationID string, body []byte) ([]byte, error) {
	rule, ok := c.bodies[operationID]
	if !ok {
		return nil, fmt.Errorf("the contract has no body for %q", operationID)
	}
	if len(body) == 0 && !rule.required {
		body = []byte("{}") // no body means a body without members
	}
	value, err := readJSON(body)
	if err != nil {
		return nil, err
	}
	if err := rule.validate(value); err != nil {
		return nil, err
	}
	if fields := cardNumbersIn(nil, value); fields != nil {
		return nil, validationFailed(tidy(fields))
	}
	return canonicalJSON(body)
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
		return validationFailed(fieldErrors(invalid))
	}
	return err
}

func validationFailed(fields []wire.FieldError) error {
	p := newProblem(wire.ProblemCodeValidationFailed, "the request is invalid; see errors")
	p.errors = fields
	return p
}
