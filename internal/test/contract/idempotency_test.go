package contracttest_test

import (
	"fmt"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/orders/internal/config"
	contracttest "example.com/orders/internal/test/contract"
)

// guardedOperations returns the operations that require a key.
func guardedOperations(t *testing.T) []*openapi3.Operation {
	t.Helper()
	v := contracttest.New(t)
	var guarded []*openapi3.Operation
	for _, op := range v.Operations() {
		documented := v.Document().Paths.Value(op.Path).GetOperation(op.Method)
		if _, present := documented.Extensions["x-idempotency"]; present != op.Idempotent {
			t.Errorf("%s requires a key: %t, and has x-idempotency: %t", op.ID, op.Idempotent, present)
		}
		if op.Idempotent {
			guarded = append(guarded, documented)
		}
	}
	if len(guarded) < 8 {
		t.Errorf("found %d operations with a key", len(guarded))
	}
	return guarded
}

// What the contract says about the stored responses is what the service does unless it is
// configured otherwise.
func TestContract_SaysHowLongResponsesAreKept(t *testing.T) {
	t.Parallel()
	kept, refusalsKept := defaultOf(t, "IdempotencyTTL"), defaultOf(t, "IdempotencyErrorTTL")
	for _, op := range guardedOperations(t) {
		says, _ := op.Extensions["x-idempotency"].(map[string]any)
		if durationOf(t, says["kept"]) != kept || durationOf(t, says["refusals_kept"]) != refusalsKept {
			t.Errorf("%s: %v, and the defaults are %s and %s", op.OperationID, says, kept, refusalsKept)
		}
		if says["scope"] != "principal" || says["other_request"] != float64(http.StatusConflict) || len(says) != 4 {
			t.Errorf("%s: %v", op.OperationID, says)
		}
	}
}

// defaultOf returns the default of a setting.
func defaultOf(t *testing.T, setting string) time.Duration {
	t.Helper()
	field, ok := reflect.TypeFor[config.Config]().FieldByName(setting)
	if !ok {
		t.Fatalf("there is no setting %s", setting)
	}
	return durationOf(t, field.Tag.Get("envDefault"))
}

func durationOf(t *testing.T, text any) time.Duration {
	t.Helper()
	written, _ := text.(string)
	d, err := time.ParseDuration(written)
	if err != nil {
		t.Error(err)
	}
	return d
}

func TestExamples_FollowTheirSchemas(t *testing.T) {
	t.Parallel()
	if err := contracttest.New(t).Document().Validate(t.Context()); err != nil {
		t.Error(err)
	}
}

// The reference page fills in the examples of parameters. If two operations had the same
// example key, the second one that somebody tries would be refused, because the key belongs
// to the first.
func TestExamples_NoTwoOperationsShareAKey(t *testing.T) {
	t.Parallel()
	usedBy := map[string]string{}
	for _, op := range guardedOperations(t) {
		key := op.Parameters.GetByInAndName(openapi3.ParameterInHeader, "Idempotency-Key")
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
