package contracttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contractURL names the contract for the schema compiler. Nothing is fetched.
const contractURL = "openapi.json"

// schemas checks bodies, headers and parameters against the contract's schemas. It
// compiles each schema once, because the tests check some ten thousand bodies.
type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[*openapi3.Schema]*jsonschema.Schema
}

func newSchemas(doc *openapi3.T) (*schemas, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(contractURL, parsed); err != nil {
		return nil, err
	}
	return &schemas{compiler: compiler, compiled: map[*openapi3.Schema]*jsonschema.Schema{}}, nil
}

// check returns an error for a body with an undocumented media type, or that does not
// follow its schema.
func (s *schemas) check(documented openapi3.Content, mediaType string, body []byte) error {
	media := documented.Get(mediaType)
	if media == nil {
		return fmt.Errorf("the Content-Type %q is not documented", mediaType)
	}
	if media.Schema == nil || media.Schema.Value.Type.Is(openapi3.TypeString) {
		return nil // a document such as the contract itself
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("parse the body: %w", err)
	}
	return s.validate(media.Schema, value)
}

// checkText returns an error for a header or parameter value that its schema does not
// allow.
func (s *schemas) checkText(name string, schema *openapi3.SchemaRef, text string) error {
	var value any = text
	if schema.Value.Type.Is(openapi3.TypeInteger) {
		value = json.Number(text)
		if _, err := strconv.Atoi(text); err != nil {
			return fmt.Errorf("the %s is not an integer: %q", name, text)
		}
	}
	if err := s.validate(schema, value); err != nil {
		return fmt.Errorf("the %s: %w", name, err)
	}
	return nil
}

func (s *schemas) validate(ref *openapi3.SchemaRef, value any) error {
	schema, err := s.get(ref)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// get returns a schema by its place in the contract. One without a name is compiled by
// its text.
func (s *schemas) get(ref *openapi3.SchemaRef) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if schema, known := s.compiled[ref.Value]; known {
		return schema, nil
	}
	url := contractURL + ref.Ref
	if ref.Ref == "" {
		text, err := json.Marshal(ref.Value)
		if err != nil {
			return nil, err
		}
		unnamed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		url = fmt.Sprintf("unnamed-%d.json", len(s.compiled))
		if err := s.compiler.AddResource(url, unnamed); err != nil {
			return nil, err
		}
	}
	schema, err := s.compiler.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", url, err)
	}
	s.compiled[ref.Value] = schema
	return schema, nil
}
