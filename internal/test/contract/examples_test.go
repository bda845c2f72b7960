package contracttest_test

import (
	"fmt"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/orders/api"
)

// The reference page fills in the examples of parameters. If two operations had the same
// example key, the second one that somebody tries would be refused, because the key belongs
// to the first.
func TestExamples_NoTwoOperationsShareAKey(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	usedBy, guarded := map[string]string{}, 0
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			key := op.Parameters.GetByInAndName(openapi3.ParameterInHeader, "Idempotency-Key")
			if key == nil {
				continue
			}
			guarded++
			for _, example := range []any{key.Example, key.Schema.Value.Example, key.Schema.Value.Default} {
				if example == nil {
					continue
				}
				if other, used := usedBy[fmt.Sprint(example)]; used {
					t.Errorf("%s and %s share the example key %v", op.OperationID, other, example)
				}
				usedBy[fmt.Sprint(example)] = op.OperationID
			}
		}
	}
	if guarded < 8 {
		t.Errorf("found %d operations with a key", guarded)
	}
}
