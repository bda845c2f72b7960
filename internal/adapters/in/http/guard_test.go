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
	return serveGuarded(newTestAPI(t, store), call)
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
