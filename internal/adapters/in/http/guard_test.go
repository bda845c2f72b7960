package httpapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

const (
	cancelPath  = "/orders/1041/cancel"
	cancelRoute = "/orders/{order_id}/cancel"
)

// serveCancel serves a guarded route whose use case is call.
func serveCancel(t *testing.T, store guard.LookupStore, call useCase) http.Handler {
	t.Helper()
	return serveGuarded(newTestAPI(t, store), call)
}

// A command runs again when its transaction lost a race. Only the last run counts.
func TestGuard_ForgetsRunThatWasRolledBack(t *testing.T) {
	t.Parallel()
	store := newMemoryStore()
	store.runs = 2
	repeated := true
	handler := serveCancel(t, store, func(context.Context) (*success, error) {
		done := &success{status: http.StatusOK, body: 1, repeated: repeated}
		repeated = false
		return done, nil
	})
	response := post(handler, cancelPath, "key-1", `{}`)
	if result := response.Header().Get("Idempotency-Result"); result != "created" {
		t.Errorf("Idempotency-Result is %q, want that of the second run", result)
	}
}

func TestGuard_StoresOnlyFinalRefusals(t *testing.T) {
	t.Parallel()
	for code, stored := range map[wire.ProblemCode]bool{
		"insufficient_funds": true, "validation_failed": true,
		"not_found": false, "forbidden_resource": false, "idempotency_key_reused": false, "internal": false,
	} {
		store := newMemoryStore()
		handler := serveCancel(t, store, func(context.Context) (*success, error) {
			return nil, &core.Fault{Code: core.Code(code), Detail: "d"}
		})
		response := post(handler, cancelPath, "key-1", `{}`)
		if problemCode(t, response) != code {
			t.Errorf("%s: got %d %s", code, response.Code, response.Body)
		}
		if got := len(store.results) == 1; got != stored {
			t.Errorf("%s: stored is %t, want %t", code, got, stored)
		}
		if !stored {
			continue
		}
		if r := store.results[0]; !r.Refused || r.TTL != 72*time.Hour || r.ReplayTTL != 6*time.Hour {
			t.Errorf("%s: stored as %+v, want a refusal for 72 h that is replayed for 6 h", code, r)
		}
	}
}
