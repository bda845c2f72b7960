package httpapi

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/wire"
)

// contract checks request bodies against api/openapi.yaml, whose schemas are compiled
// once, when the service starts.
type contract struct {
	bodies map[string]bodyRule // by operationId
}

// bodyRule is what the contract says about the body of one operation.
type bodyRule struct {
	required bool
	schema   *jsonschema.Schema
}

// pathItem and operation are as much of an OpenAPI document as bodies need.
type pathItem struct{ Get, Put, Post, Patch, Delete *operation }

type operation struct {
	ID          string `yaml:"operationId"`
	RequestBody struct {
		Required bool
		Content  map[string]struct {
			Schema struct {
				Ref string `yaml:"$ref"`
			}
		}
	} `yaml:"requestBody"`
}

// contractURL is what the compiler calls the file; nothing is fetched.
const contractURL = "openapi.yaml"

func newContract() (*contract, error) {
	compiler, err := schemaCompiler(openapi.OpenAPI)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	var document struct{ Paths map[string]pathItem }
	if err := yaml.Unmarshal(openapi.OpenAPI, &document); err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	c := &contract{bodies: map[string]bodyRule{}}
	for _, item := range document.Paths {
		for _, op := range []*operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if err := c.add(compiler, op); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// schemaCompiler reads the whole file as one JSON Schema resource: schemas refer to
// each other by their place in it.
func schemaCompiler(file []byte) (*jsonschema.Compiler, error) {
	var document any
	if err := yaml.Unmarshal(file, &document); err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	return compiler, compiler.AddResource(contractURL, document)
}

func (c *contract) add(compiler *jsonschema.Compiler, op *operation) error {
	if op == nil || op.RequestBody.Content == nil {
		return nil
	}
	schema, err := compiler.Compile(contractURL + op.RequestBody.Content["application/json"].Schema.Ref)
	if err != nil {
		return fmt.Errorf("compile the body of %s: %w", op.ID, err)
	}
	c.bodies[op.ID] = bodyRule{required: op.RequestBody.Required, schema: schema}
	return nil
}

// hasBody tells whether requests of an operation have a body at all.
func (c *contract) hasBody(operationID string) bool {
	_, ok := c.bodies[operationID]
	return ok
}

// check holds a body against the contract of an operation, and gives its canonical
// form (RFC 8785): two bodies that say the same are equal there. Nothing that a caller
// sent comes back in a refusal but the names of members (AUTH-16).
//
// Refusals: malformed_request, validation_failed.
func (c *contract) check(operationID string, body []byte) ([]byte, error) {
	rule, ok := c.bodies[operationID]
	if !ok {
		return nil, fmt.Errorf("the contract has no body for %q", operationID)
	}
	if len(body) == 0 && !rule.required {
		body = []byte("{}") // nothing to say, in the words of the contract
	}
	if err := scan(body); err != nil {
		return nil, err
	}
	if err := rule.validate(body); err != nil {
		return nil, err
	}
	canonical := jsontext.Value(body).Clone()
	if err := canonical.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonicalize a body: %w", err)
	}
	return canonical, nil
}

func (r bodyRule) validate(body []byte) error {
	var value any
	if err := json.Unmarshal(body, &value); err != nil { // numbers fit a float64: scan saw to it
		return fmt.Errorf("decode a body: %w", err)
	}
	err := r.schema.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	return validationFailed(fieldErrors(invalid))
}

func validationFailed(fields []wire.FieldError) *problem {
	p := newProblem(wire.ProblemCodeValidationFailed, "the request does not satisfy the contract")
	p.errors = fields
	return p
}
