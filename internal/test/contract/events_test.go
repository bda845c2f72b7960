package contracttest_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	contracttest "example.com/orders/internal/test/contract"
)

var eventTypeConstant = regexp.MustCompile(`\bcore\.EventType += "(.*)"`)

// The lists of event types have every constant, and api/asyncapi.yaml has every type.
func TestEventTypes_AreThoseOfAsyncAPI(t *testing.T) {
	t.Parallel()
	var published []string
	for file, listed := range map[string][]core.EventType{
		"../../core/order/event.go":   order.EventTypes,
		"../../core/payment/event.go": payment.EventTypes,
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var declared []core.EventType
		for _, constant := range eventTypeConstant.FindAllSubmatch(source, -1) {
			declared = append(declared, core.EventType(constant[1]))
			published = append(published, string(constant[1]))
		}
		if diff := cmp.Diff(declared, listed); diff != "" {
			t.Errorf("%s: declared only (-), listed only (+):\n%s", file, diff)
		}
	}
	slices.Sort(published)
	documented := slices.Sorted(maps.Keys(contracttest.EventSchemas(t)))
	if diff := cmp.Diff(published, documented); diff != "" {
		t.Errorf("only in the code (-), only in api/asyncapi.yaml (+):\n%s", diff)
	}
}
