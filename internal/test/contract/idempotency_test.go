package contracttest_test

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/orders/internal/config"
	contracttest "example.com/orders/internal/test/contract"
)

// What the contract says about the stored responses is what the service does unless it is
// configured otherwise.
func TestContract_SaysHowLongResponsesAreKept(t *testing.T) {
	t.Parallel()
	kept, refusalsKept := defaultOf(t, "IdempotencyTTL"), defaultOf(t, "IdempotencyErrorTTL")
	v, guarded := contracttest.New(t), 0
	for _, op := range v.Operations() {
		says, present := operationOf(v.Document(), op).Extensions["x-idempotency"].(map[string]any)
		if present != op.Idempotent {
			t.Errorf("%s requires a key: %t, and has x-idempotency: %t", op.ID, op.Idempotent, present)
		}
		if !present {
			continue
		}
		guarded++
		if durationOf(t, says["kept"]) != kept || durationOf(t, says["refusals_kept"]) != refusalsKept {
			t.Errorf("%s: %v, and the defaults are %s and %s", op.ID, says, kept, refusalsKept)
		}
		if says["scope"] != "principal" || says["other_request"] != float64(http.StatusConflict) || len(says) != 4 {
			t.Errorf("%s: %v", op.ID, says)
		}
	}
	if guarded < 8 {
		t.Errorf("found %d operations with a key", guarded)
	}
}

func operationOf(doc *openapi3.T, op contracttest.Operation) *openapi3.Operation {
	return doc.Paths.Value(op.Path).GetOperation(op.Method)
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
