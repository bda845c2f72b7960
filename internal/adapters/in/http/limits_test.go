package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/http/limits"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, time.November, 4, 9, 30, 0, 0, time.UTC)} }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// limited returns an API with limits that count by the clock, and where it keeps records.
func (c *clock) limited(t *testing.T, cfg limits.Config) (*api, *memoryStore) {
	t.Helper()
	cfg.Now = func() time.Time { return c.now }
	store := newMemoryStore()
	a := newTestAPI(t, store)
	a.Limits = newTestLimits(t, cfg)
	return a, store
}

// serveGuarded serves a guarded route to ann, whose use case is call.
func serveGuarded(a *api, call useCase) http.Handler {
	return serveAuthorised(a, route{
		method: http.MethodPost, pattern: cancelRoute, operation: "cancel", repeat: guarded,
		handle: func(*request) (useCase, error) { return call, nil },
	})
}

func succeed(context.Context) (*success, error) { return &success{status: http.StatusOK, body: 1}, nil }

// wantLimited checks that a request was refused by a limit.
func wantLimited(t *testing.T, w *httptest.ResponseRecorder, retryAfter string) {
	t.Helper()
	if problemCode(t, w) != wire.ProblemCodeRateLimited || w.Header().Get("Retry-After") != retryAfter {
		t.Errorf("got %d, Retry-After %q, want 429 after %s: %s", w.Code, w.Header().Get("Retry-After"), retryAfter, w.Body)
	}
	if next := problemOf(t, w).NextKey; next == nil || *next != wire.NextKeySame {
		t.Errorf("next_key is %v, want same", next)
	}
}

func wantServed(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Errorf("got %d, want 200: %s", w.Code, w.Body)
	}
}

func TestRequestLimit_RefusesUntilRetryAfterIsOver(t *testing.T) {
	t.Parallel()
	clock := newClock()
	a, store := clock.limited(t, limits.Config{RequestsPerMinute: 3})
	handler := serveGuarded(a, succeed)
	for range 3 {
		wantServed(t, post(handler, cancelPath, "key-1", `{}`))
	}
	claims := store.claims
	wantLimited(t, post(handler, cancelPath, "key-1", `{}`), "20")
	clock.pass(19*time.Second + 1)
	wantLimited(t, post(handler, cancelPath, "key-1", `{}`), "1")
	if store.claims != claims {
		t.Error("a refused request reached the store")
	}
	clock.pass(time.Second - 1)
	wantServed(t, post(handler, cancelPath, "key-1", `{}`))
	wantLimited(t, post(handler, cancelPath, "key-1", `{}`), "20")
}

func TestKeyLimit_RefusesUntilRetryAfterIsOver(t *testing.T) {
	t.Parallel()
	clock := newClock()
	a, store := clock.limited(t, limits.Config{KeysPerMinute: 3})
	store.runs = 2 // a transaction that runs twice has one key
	calls := 0
	handler := serveGuarded(a, func(ctx context.Context) (*success, error) { calls++; return succeed(ctx) })
	for i := range 3 {
		wantServed(t, post(handler, cancelPath, fmt.Sprintf("key-%d", i), `{}`))
	}
	for range 5 { // replays are free
		wantServed(t, post(handler, cancelPath, "key-2", `{}`))
	}
	wantLimited(t, post(handler, cancelPath, "key-3", `{}`), "20")
	if calls != 3*store.runs || len(store.results) != 3 {
		t.Errorf("%d calls and %d records for 3 keys", calls, len(store.results))
	}
	clock.pass(20 * time.Second)
	wantServed(t, post(handler, cancelPath, "key-3", `{}`))
	wantLimited(t, post(handler, cancelPath, "key-4", `{}`), "20")
}

// The place of a request is free again however the request ends.
func TestInFlight_EndsWithTheRequest(t *testing.T) {
	t.Parallel()
	a, _ := newClock().limited(t, limits.Config{InFlight: 1})
	ways := map[string]useCase{
		"success": succeed,
		"refusal": func(context.Context) (*success, error) { return nil, core.NotFound("order") },
		"panic":   func(context.Context) (*success, error) { panic("a bug") },
	}
	for name, call := range ways {
		func() {
			defer func() { _ = recover() }()
			post(serveGuarded(a, call), cancelPath, "key-"+name, `{}`)
		}()
		admitted, err := a.Limits.Admit("issuer ann", core.Actor{Subject: "ann"})
		if err != nil {
			t.Fatalf("after a %s, the request is still in flight: %v", name, err)
		}
		admitted.End()
	}
	if invalid := post(serveGuarded(a, succeed), cancelPath, "", `{}`); problemCode(t, invalid) != wire.ProblemCodeIdempotencyKeyRequired {
		t.Errorf("without a key: %d %s", invalid.Code, invalid.Body)
	}
	wantServed(t, post(serveGuarded(a, succeed), cancelPath, "key-1", `{}`))
}
