package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/cardnumber"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/reference"
	"example.com/orders/internal/adapters/in/http/wire"
)

// Bodies that follow the contract, or nearly, are refused exactly as a JSON Schema library
// refuses them. -rapid.checks=10000000 draws as many.
func TestCheck_DecidesAsAJSONSchemaLibrary(t *testing.T) {
	c := testContract(t)
	schemas := validators(t, c)
	operations := slices.Sorted(maps.Keys(c.bodies))
	valid := 0
	rapid.Check(t, func(t *rapid.T) {
		operation := rapid.SampledFrom(operations).Draw(t, "operation")
		body, err := json.Marshal(drawn(t, c.bodies[operation].shape))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Check(operation, body)
		wantSameVerdict(t, schemas[operation], body, err)
		if err == nil {
			valid++
		}
	})
	if valid == 0 {
		t.Error("no body was valid")
	}
}

// drawn returns a value that has a shape, or breaks a rule somewhere.
func drawn(t *rapid.T, s *shape) any {
	if rapid.IntRange(0, 15).Draw(t, "other") == 0 {
		return rapid.SampledFrom([]any{
			nil, true, 0, -1, 1.5, 1e9, 10_001, "", "RUB", "1", "balance", "a b", "\x00", strings.Repeat("я", 256), []any{}, map[string]any{},
		}).Draw(t, "value")
	}
	switch {
	case len(s.choices) > 0:
		return drawn(t, s.choices[rapid.SampledFrom(slices.Sorted(maps.Keys(s.choices))).Draw(t, "choice")])
	case s.Type == "array":
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return drawn(t, s.Items) }), 0, 3).Draw(t, "items")
	case s.Type == "integer":
		return rapid.Int64Range(*s.Minimum-1, *s.Maximum+1).Draw(t, "number")
	case s.Type == "boolean":
		return rapid.Bool().Draw(t, "boolean")
	case s.Type == "string" && s.Enum != nil:
		return rapid.SampledFrom(s.Enum).Draw(t, "text")
	case s.Type == "string":
		return rapid.StringMatching(s.Pattern).Draw(t, "text")
	}
	object := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if rapid.IntRange(0, 9).Draw(t, "present") > 0 {
			object[name] = drawn(t, s.Properties[name])
		}
	}
	if rapid.IntRange(0, 15).Draw(t, "unknown") == 0 {
		object[rapid.SampledFrom([]string{"x", "", "amount", "method", "a@b", "4242424242424242"}).Draw(t, "name")] = "1"
	}
	return object
}

// validators returns the contract's body schemas as a JSON Schema library reads them, by
// operationId.
func validators(t testing.TB, c *Contract) map[string]*jsonschema.Schema {
	t.Helper()
	var document any
	if err := yaml.Unmarshal(openapi.OpenAPI, &document); err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.RegisterFormat(&jsonschema.Format{Name: "reference", Validate: func(v any) error {
		if text, ok := v.(string); ok && reference.Check(text) != "" {
			return errors.New(reference.Check(text))
		}
		return nil
	}})
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.yaml", document); err != nil {
		t.Fatal(err)
	}
	compiled := map[string]*jsonschema.Schema{}
	for operation := range c.bodies {
		name := strings.ToUpper(operation[:1]) + operation[1:] + "Request"
		schema, err := compiler.Compile("openapi.yaml#/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		compiled[operation] = schema
	}
	return compiled
}

// wrong returns the pointers to what violates a schema, as a JSON Schema library finds them.
func wrong(pointers []string, e *jsonschema.ValidationError) []string {
	for _, cause := range e.Causes {
		pointers = wrong(pointers, cause)
	}
	if len(e.Causes) > 0 {
		return pointers
	}
	at := func(member ...string) {
		pointers = append(pointers, problem.Pointer(slices.Concat(e.InstanceLocation, member)...))
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			at(name)
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			if isPrivate(name) {
				at()
			} else {
				at(name)
			}
		}
	default:
		at()
	}
	return pointers
}

// wantSameVerdict compares the verdict on a body, and what it names, with that of a JSON
// Schema library. With a choice, the library names what all choices violate.
func wantSameVerdict(t rapid.TB, schema *jsonschema.Schema, body []byte, err error) {
	t.Helper()
	value, parseErr := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	got := codeOf(err)
	if parseErr != nil || got == wire.ProblemCodeMalformedRequest {
		return
	}
	var want []string
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(value)); ok {
		want = wrong(nil, invalid)
	}
	var named []string
	for _, field := range refusedBy(err) {
		if field.Detail != cardnumber.Refused {
			named = append(named, field.Pointer)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if (want == nil) != (named == nil) || schema.OneOf == nil && len(want) <= problem.MaxErrors && !slices.Equal(want, named) {
		t.Errorf("%s: refused at %v, and a JSON Schema library refuses %v", body, named, want)
	}
}

// refusedBy returns the entries of a refusal.
func refusedBy(err error) []wire.FieldError {
	if p, ok := errors.AsType[*problem.Problem](err); ok {
		return p.Errors
	}
	return nil
}
