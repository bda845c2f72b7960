package contract

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.com/orders/internal/adapters/in/http/strictjson"
	"example.com/orders/internal/adapters/in/http/wire"
)

// size is how many values a body has, and on how many levels.
type size struct{ values, depth int }

// largest returns the size of the largest body that follows a schema. The test fails for
// a list without a limit, because no bound fits it.
func largest(t *testing.T, s *jsonschema.Schema) size {
	t.Helper()
	if s.Ref != nil {
		t.Fatalf("%s is a reference", s.Location) // the validator would follow it for each value
	}
	total := size{values: 1}
	add := func(of *jsonschema.Schema, times int) {
		inner := largest(t, of)
		total.values += times * inner.values
		total.depth = max(total.depth, inner.depth+1)
	}
	for _, member := range s.Properties {
		add(member, 1)
	}
	if s.Items2020 != nil {
		if s.MaxItems == nil {
			t.Fatalf("%s has no maxItems", s.Location)
		}
		add(s.Items2020, *s.MaxItems)
	}
	return total
}

func TestCheck_BoundsNoBodyThatTheContractAllows(t *testing.T) {
	most := size{}
	for operation, rule := range testContract(t).bodies {
		got := largest(t, rule.schema)
		if got.values > strictjson.MaxValues || got.depth > strictjson.MaxDepth {
			t.Errorf("%s: the largest body has %d values on %d levels", operation, got.values, got.depth)
		}
		most = size{max(most.values, got.values), max(most.depth, got.depth)}
	}
	if want := (size{values: 304, depth: 3}); most != want {
		t.Errorf("the largest body of all has %+v, and the comment on strictjson.MaxValues says %+v", most, want)
	}
}

// A body is refused for its size only beyond the bounds, so that its members are named
// wherever they can be.
func TestCheck_ValidatesBodiesWithinTheBounds(t *testing.T) {
	c := testContract(t)
	for name, body := range map[string]string{
		"500 values": "[" + strings.Repeat("0,", 498) + "0]",
		"16 levels":  strings.Repeat("[", 16) + strings.Repeat("]", 16),
		"101 items":  `{"items":[` + strings.Repeat(`{"sku":"a","quantity":1},`, 100) + `{"sku":"a","quantity":1}]}`,
	} {
		if _, err := c.Check("createOrder", []byte(body)); codeOf(err) != wire.ProblemCodeValidationFailed {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
