package contracttest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"example.com/orders/api"
)

// eventSchemas names the schemas in api/asyncapi.yaml for published events. Each lists
// its event types as alternatives for the member `type`.
var eventSchemas = []string{"OrderEvent", "PaymentEvent", "RefundEvent", "BalanceEvent", "ProductEvent"}

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
