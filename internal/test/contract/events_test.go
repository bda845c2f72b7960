package contracttest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"example.com/orders/api"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// areas are the packages that publish events: the file that declares their types, and
// the list that they export.
var areas = map[string][]core.EventType{
	"../../core/order/event.go":   order.EventTypes,
	"../../core/payment/event.go": payment.EventTypes,
}

func TestEventTypes_AreThoseOfAsyncAPI(t *testing.T) {
	t.Parallel()
	var published []core.EventType
	for _, types := range areas {
		published = append(published, types...)
	}
	slices.Sort(published)
	documented := documentedEventTypes(t)
	if diff := cmp.Diff(published, documented); diff != "" {
		t.Errorf("only in the code (-), only in api/asyncapi.yaml (+):\n%s", diff)
	}
}

func TestEventTypes_ListEveryConstant(t *testing.T) {
	t.Parallel()
	for file, listed := range areas {
		declared := declaredEventTypes(t, file)
		if diff := cmp.Diff(declared, listed); diff != "" {
			t.Errorf("%s: declared only (-), listed only (+):\n%s", file, diff)
		}
	}
}

// documentedEventTypes returns the values of the member "type" of every event schema in
// api/asyncapi.yaml, sorted.
func documentedEventTypes(t *testing.T) []core.EventType {
	t.Helper()
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					OneOf []struct{ Const core.EventType } `yaml:"oneOf"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(api.AsyncAPI, &doc); err != nil {
		t.Fatal(err)
	}
	var types []core.EventType
	for _, schema := range doc.Components.Schemas {
		for _, value := range schema.Properties["type"].OneOf {
			types = append(types, value.Const)
		}
	}
	slices.Sort(types)
	return types
}

// declaredEventTypes returns the constants of type core.EventType that a file declares,
// in their order.
func declaredEventTypes(t *testing.T, path string) []core.EventType {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var types []core.EventType
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if name, ok := spec.Type.(*ast.SelectorExpr); !ok || name.Sel.Name != "EventType" {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Errorf("%s: %s is not a literal", path, spec.Names[0].Name)
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, core.EventType(value))
		return true
	})
	return types
}
