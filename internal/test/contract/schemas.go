package contracttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"example.com/orders/api"
)

// contractURL names the contract for the schema compiler, which does not fetch it.
const contractURL = "openapi.json"

// schemas checks bodies, headers and parameters against the contract schemas. It
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
	location := contractURL + ref.Ref
	if ref.Ref == "" {
		text, err := json.Marshal(ref.Value)
		if err != nil {
			return nil, err
		}
		unnamed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		location = fmt.Sprintf("unnamed-%d.json", len(s.compiled))
		if err := s.compiler.AddResource(location, unnamed); err != nil {
			return nil, err
		}
	}
	schema, err := s.compiler.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", location, err)
	}
	s.compiled[ref.Value] = schema
	return schema, nil
}

type request struct {
	*http.Request
	operation  *openapi3.Operation
	parameters openapi3.Parameters
	path       map[string]string // path parameters
}

// resolve finds the operation of a request. A request without one belongs to an operation
// that answers 404 or 405.
func (v *Validator) resolve(req *http.Request) request {
	route, path, err := v.findRoute(req)
	if err != nil {
		responses := v.doc.Components.Responses
		return request{Request: req, operation: &openapi3.Operation{Responses: openapi3.NewResponses(
			openapi3.WithStatus(http.StatusNotFound, responses["NotFound"]),
			openapi3.WithStatus(http.StatusMethodNotAllowed, responses["MethodNotAllowed"]),
		)}}
	}
	return request{
		Request: req, operation: route.Operation, path: path,
		parameters: slices.Concat(route.PathItem.Parameters, route.Operation.Parameters),
	}
}

// findRoute matches the escaped path: an escaped slash does not separate segments, and
// no segment is empty. By itself the library would match the decoded path. HEAD has the
// operation of GET.
func (v *Validator) findRoute(req *http.Request) (*routers.Route, map[string]string, error) {
	sent := req.Clone(req.Context())
	sent.URL.Path = req.URL.EscapedPath()
	if req.Method == http.MethodHead {
		sent.Method = http.MethodGet
	}
	route, params, err := v.router.FindRoute(sent)
	if err != nil {
		return nil, nil, err
	}
	for name, value := range params {
		if value == "" {
			return nil, nil, fmt.Errorf("%s is empty", name)
		}
		if params[name], err = url.PathUnescape(value); err != nil {
			return nil, nil, err
		}
	}
	return route, params, nil
}

func (v *Validator) checkAccepted(sent request, body []byte, status int) error {
	if status/100 != 2 {
		return nil
	}
	if err := errors.Join(v.checkParameters(sent), checkQuery(sent)); err != nil {
		return err
	}
	documented := sent.operation.RequestBody
	switch {
	case documented == nil, len(body) == 0 && !documented.Value.Required:
		return nil
	case len(body) == 0:
		return errors.New("the request has no body, and the contract requires one")
	}
	return v.schemas.check(documented.Value.Content, sent.Header.Get("Content-Type"), body)
}

// checkParameters returns an error for each parameter that is required but absent, or
// that has a value its schema does not allow. The library could do it, but would
// compile each schema on every call.
func (v *Validator) checkParameters(sent request) error {
	var errs []error
	for _, ref := range sent.parameters {
		name := ref.Value.In + " parameter " + ref.Value.Name
		values := sent.values(ref.Value)
		if len(values) == 0 && ref.Value.Required {
			errs = append(errs, fmt.Errorf("the %s is missing", name))
		}
		for _, value := range values {
			errs = append(errs, v.schemas.checkText(name, ref.Value.Schema, value))
		}
	}
	return errors.Join(errs...)
}

func (r request) values(parameter *openapi3.Parameter) []string {
	switch parameter.In {
	case openapi3.ParameterInPath:
		return []string{r.path[parameter.Name]}
	case openapi3.ParameterInQuery:
		return r.URL.Query()[parameter.Name]
	default:
		return r.Header.Values(parameter.Name)
	}
}

// checkQuery returns an error for an undocumented parameter in an accepted query.
// Public operations ignore unknown parameters, because probes and caches add some.
func checkQuery(sent request) error {
	if len(rolesOf(sent.operation)) == 0 {
		return nil
	}
	for name, values := range sent.URL.Query() {
		if sent.operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil || len(values) > 1 {
			return fmt.Errorf("the query has the parameter %s with %d values", name, len(values))
		}
	}
	return nil
}

// eventSchemas names the schemas in api/asyncapi.yaml for published events. Each lists
// its event types as alternatives for the member `type`.
var eventSchemas = []string{"OrderEvent", "PaymentEvent", "RefundEvent", "BalanceEvent", "ProductEvent", "WebhookEndpointEvent"}

// EventSchemas returns the schema for each event type in api/asyncapi.yaml. The schemas
// allow no members that the file does not name: consumers ignore unknown members, but
// we must not send them.
func EventSchemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	doc := asyncAPI(t)
	closeObjects(doc)
	compiler := newCompiler(t, doc)
	compiler.AssertFormat()
	schemas := map[string]*jsonschema.Schema{}
	for _, name := range eventSchemas {
		schema := compile(t, compiler, name)
		for _, alternative := range schema.Properties["type"].OneOf {
			eventType, ok := (*alternative.Const).(string)
			if !ok {
				t.Fatalf("%s: %v is not a type of event", name, *alternative.Const)
			}
			schemas[eventType] = schema
		}
	}
	return schemas
}

// MessageSchema returns a schema from api/asyncapi.yaml for incoming messages, which
// may have members that the file does not name.
func MessageSchema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	return compile(t, newCompiler(t, asyncAPI(t)), name)
}

func newCompiler(t testing.TB, doc any) *jsonschema.Compiler {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7) // AsyncAPI's schemas extend this one
	if err := compiler.AddResource("asyncapi.yaml", doc); err != nil {
		t.Fatal(err)
	}
	return compiler
}

func compile(t testing.TB, compiler *jsonschema.Compiler, name string) *jsonschema.Schema {
	t.Helper()
	schema, err := compiler.Compile("asyncapi.yaml#/components/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asyncAPI parses api/asyncapi.yaml. It converts YAML to JSON first, because the schema
// library expects the types that its JSON parser returns.
func asyncAPI(t testing.TB) any {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal(api.AsyncAPI, &doc); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// closeObjects forbids unknown members in every object.
func closeObjects(node any) {
	switch node := node.(type) {
	case map[string]any:
		if _, object := node["properties"]; object {
			node["additionalProperties"] = false
		}
		for _, child := range node {
			closeObjects(child)
		}
	case []any:
		for _, child := range node {
			closeObjects(child)
		}
	}
}
