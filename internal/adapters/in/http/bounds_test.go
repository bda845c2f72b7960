package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

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
		if got.values > maxValues || got.depth > maxDepth {
			t.Errorf("%s: the largest body has %d values on %d levels", operation, got.values, got.depth)
		}
		most = size{max(most.values, got.values), max(most.depth, got.depth)}
	}
	if want := (size{values: 304, depth: 3}); most != want {
		t.Errorf("the largest body of all has %+v, and the comment on maxValues says %+v", most, want)
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
		if _, err := c.check("createOrder", []byte(body)); codeOf(err) != wire.ProblemCodeValidationFailed {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// hostileBodies are bodies of createOrder that are as expensive to refuse as their size
// allows.
func hostileBodies() map[string]string {
	fill := func(before, item, after string) string {
		n := (maxBody - len(before) - len(after)) / len(item)
		return before + strings.TrimSuffix(strings.Repeat(item, n), ",") + after
	}
	list := func(item string, n int) string {
		return `{"items":[` + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + `]}`
	}
	var members []string
	for i := range maxBody / len(`"m0000":0,`) {
		members = append(members, fmt.Sprintf(`"m%04d":0`, i))
	}
	return map[string]string{
		"10000 empty objects":       list(`{}`, 10_000),
		"as many empty objects":     fill(`{"items":[`, `{},`, `]}`),
		"as many zeros":             fill(`{"items":[`, `0,`, `]}`),
		"as many tiny numbers":      fill(`{"items":[`, `1.7e-300,`, `]}`),
		"as many members":           "{" + strings.Join(members, ",") + "}",
		"as many levels":            fill(`{"items":`, `[`, ``),
		"one long number":           fill(`{"items":`, `1`, `}`),
		"one long string":           fill(`{"items":[{"quantity":1,"sku":"`, `a`, `"}]}`),
		"one long string of digits": fill(`{"reference":"`, `4242 `, `"}`),
		"bounded: empty objects":    list(`{}`, maxValues-2),
		"bounded: tiny numbers":     list(`1.7e-300`, maxValues-2),
		"bounded: members":          "{" + strings.Join(members[:maxValues-1], ",") + "}",
	}
}

func BenchmarkCheck_HostileBody(b *testing.B) {
	c := testContract(b)
	for name, body := range hostileBodies() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.check("createOrder", []byte(body)); err == nil {
					b.Fatal("the body was accepted")
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	c := testContract(b)
	body := []byte(`{"customer_id":"sber-42","items":[{"sku":"tea","quantity":2},{"sku":"coffee","quantity":1}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.check("createOrder", body); err != nil {
			b.Fatal(err)
		}
	}
}
