package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

const (
	cancelPath  = "/orders/1041/cancel"
	cancelRoute = "/orders/{order_id}/cancel"
)

// serveCancel serves a guarded route whose use case is call.
func serveCancel(t *testing.T, store idempotency.LookupStore, call useCase) http.Handler {
	t.Helper()
	return serveAuthorised(newTestAPI(t, store), route{
		method: http.MethodPost, pattern: cancelRoute, operation: "cancelOrder", repeat: guarded,
		handle: func(*request) (useCase, error) { return call, nil },
	})
}

// idempotencyHeaders returns the headers of the guard in a response.
func idempotencyHeaders(w *httptest.ResponseRecorder) map[string]string {
	found := map[string]string{}
	for _, name := range []string{"Idempotency-Key", "Idempotency-Result", "Idempotency-Expires", "Idempotent-Replayed"} {
		if value := w.Header().Get(name); value != "" {
			found[name] = value
		}
	}
	return found
}

func TestGuard_ReplaysFirstResponse(t *testing.T) {
	t.Parallel()
	calls := 0
	handler := serveCancel(t, newMemoryStore(), func(context.Context) (*success, error) {
		calls++
		return &success{status: http.StatusCreated, location: "/orders/1041", body: map[string]int{"call": calls}}, nil
	})

	first := post(handler, cancelPath, "key-1", `{"reason":"late"}`)
	second := post(handler, cancelPath, "key-1", `{ "reason": "late" }`)

	want := map[string]string{
		"Idempotency-Key": "key-1", "Idempotency-Result": "created", "Idempotency-Expires": "2026-11-07T09:30:00Z",
	}
	if diff := cmp.Diff(want, idempotencyHeaders(first)); diff != "" {
		t.Errorf("headers of the first response: %s", diff)
	}
	want["Idempotency-Result"], want["Idempotent-Replayed"] = "reused", "true"
	if diff := cmp.Diff(want, idempotencyHeaders(second)); diff != "" {
		t.Errorf("headers of the second response: %s", diff)
	}
	if first.Code != http.StatusCreated || first.Header().Get("Location") != "/orders/1041" || first.Body.String() != `{"call":1}` {
		t.Errorf("first response: %d %v %s", first.Code, first.Header(), first.Body)
	}
	if second.Code != first.Code || second.Body.String() != first.Body.String() ||
		second.Header().Get("Location") != first.Header().Get("Location") ||
		second.Header().Get("Content-Type") != first.Header().Get("Content-Type") || calls != 1 {
		t.Errorf("second response after %d calls: %d %v %s", calls, second.Code, second.Header(), second.Body)
	}
}

// The second line of defence found that the operation had taken effect before. The
// response is new, so it is not a replay, but its effect is the earlier one.
func TestGuard_MarksRepeatedOperationAsReused(t *testing.T) {
	t.Parallel()
	handler := serveCancel(t, newMemoryStore(), func(context.Context) (*success, error) {
		return &success{status: http.StatusOK, body: 1, repeated: true}, nil
	})
	got := idempotencyHeaders(post(handler, cancelPath, "key-1", `{}`))
	want := map[string]string{
		"Idempotency-Key": "key-1", "Idempotency-Result": "reused", "Idempotency-Expires": "2026-11-07T09:30:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
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
	stored := map[wire.ProblemCode]bool{
		"insufficient_funds": true, "card_declined": true, "reference_taken": true,
		"invalid_order_state": true, "reservation_limit": true, "unpaid_orders_limit": true, "out_of_stock": true, "stock_reserved": true, "reservation_expired": true,
		"refund_exceeds_payment": true, "validation_failed": true, "unknown_sku": true, "mixed_currencies": true,
		"mixed_sellers": true, "payment_method_unavailable": true,
	}
	for code, kind := range problemKinds {
		store := newMemoryStore()
		handler := serveCancel(t, store, func(context.Context) (*success, error) {
			return nil, &core.Fault{Code: core.Code(code), Detail: "d"}
		})
		response := post(handler, cancelPath, "key-1", `{}`)
		if response.Code != kind.status || problemCode(t, response) != code {
			t.Errorf("%s: got %d %s", code, response.Code, response.Body)
		}
		if got := len(store.results) == 1; got != stored[code] {
			t.Errorf("%s: stored is %t, want %t", code, got, stored[code])
		}
		if !stored[code] {
			continue
		}
		if r := store.results[0]; !r.Refused || r.TTL != 72*time.Hour || r.ReplayTTL != 6*time.Hour {
			t.Errorf("%s: stored as %+v, want a refusal for 72 h that is replayed for 6 h", code, r)
		}
	}
}

func TestGuard_ReplaysRefusal(t *testing.T) {
	t.Parallel()
	handler := serveCancel(t, newMemoryStore(), func(context.Context) (*success, error) {
		return nil, &core.Fault{Code: core.CodeInvalidOrderState, Detail: "the order is shipped"}
	})
	first := post(handler, cancelPath, "key-1", `{}`)
	second := post(handler, cancelPath, "key-1", `{}`)
	if first.Code != http.StatusConflict || second.Code != http.StatusConflict || first.Body.String() != second.Body.String() {
		t.Errorf("first %d %s, second %d %s", first.Code, first.Body, second.Code, second.Body)
	}
	want := map[string]string{
		"Idempotency-Key": "key-1", "Idempotency-Result": "reused", "Idempotency-Expires": "2026-11-04T15:30:00Z",
		"Idempotent-Replayed": "true",
	}
	if diff := cmp.Diff(want, idempotencyHeaders(second)); diff != "" {
		t.Error(diff)
	}
}

func TestGuard_FailureLeavesKeyFree(t *testing.T) {
	t.Parallel()
	results := []error{errors.New("connection lost"), nil}
	handler := serveCancel(t, newMemoryStore(), func(context.Context) (*success, error) {
		err := results[0]
		results = results[1:]
		return &success{status: http.StatusOK, body: "done"}, err
	})
	if first := post(handler, cancelPath, "key-1", `{}`); problemCode(t, first) != wire.ProblemCodeInternal {
		t.Errorf("first response: %d %s", first.Code, first.Body)
	}
	second := post(handler, cancelPath, "key-1", `{}`)
	if second.Code != http.StatusOK || second.Header().Get("Idempotency-Result") != "created" {
		t.Errorf("second response: %d %v %s", second.Code, second.Header(), second.Body)
	}
}

func TestGuard_RefusesKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	handler := serveCancel(t, newMemoryStore(), func(context.Context) (*success, error) {
		return &success{status: http.StatusOK, body: "secret"}, nil
	})
	post(handler, cancelPath, "key-1", `{"reason":"late"}`)
	for name, other := range map[string]*httptest.ResponseRecorder{
		"other body": post(handler, cancelPath, "key-1", `{"reason":"early"}`),
		"other path": post(handler, "/orders/1042/cancel", "key-1", `{"reason":"late"}`),
	} {
		if problemCode(t, other) != wire.ProblemCodeIdempotencyKeyReused || other.Header().Get("Retry-After") != "" {
			t.Errorf("%s: got %d %v %s", name, other.Code, other.Header(), other.Body)
		}
	}
}

func TestGuard_ReportsFirstRequestInProgress(t *testing.T) {
	t.Parallel()
	store := newMemoryStore()
	store.refuse = idempotency.ErrInProgress
	response := post(serveCancel(t, store, nil), cancelPath, "key-1", `{}`)
	if problemCode(t, response) != wire.ProblemCodeIdempotencyInProgress || response.Header().Get("Retry-After") == "" {
		t.Errorf("got %d %v %s", response.Code, response.Header(), response.Body)
	}
}

func TestGuard_RefusesRequestWithoutValidKey(t *testing.T) {
	t.Parallel()
	store := newMemoryStore()
	handler := serveCancel(t, store, nil)
	for key, want := range map[string]wire.ProblemCode{
		"": wire.ProblemCodeIdempotencyKeyRequired, "a,b": wire.ProblemCodeIdempotencyKeyInvalid,
	} {
		response := post(handler, cancelPath, key, `{}`)
		if problemCode(t, response) != want || response.Header().Get("Idempotency-Key") != "" || store.claims != 0 {
			t.Errorf("key %q: got %d %s and %d claims, want %s", key, response.Code, response.Body, store.claims, want)
		}
	}
}
