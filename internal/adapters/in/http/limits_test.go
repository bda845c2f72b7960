package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, time.November, 4, 9, 30, 0, 0, time.UTC)} }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// limited returns an API with limits that count by the clock, and where it keeps records.
func (c *clock) limited(t *testing.T, cfg LimitsConfig) (*api, *memoryStore) {
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
		method: http.MethodPost, pattern: cancelRoute, operation: "cancelOrder", repeat: guarded,
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
	if next := nextKeyIn(t, w.Body.Bytes()); next != "same" {
		t.Errorf("next_key is %s, want same", next)
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
	a, store := clock.limited(t, LimitsConfig{RequestsPerMinute: 3})
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
	a, store := clock.limited(t, LimitsConfig{KeysPerMinute: 3})
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

// A bucket of any size admits a request after Retry-After, and none a second earlier.
func TestLimits_RetryAfterIsRight(t *testing.T) {
	t.Parallel()
	for perMinute := 1; perMinute <= 200; perMinute++ {
		clock := newClock()
		a, _ := clock.limited(t, LimitsConfig{RequestsPerMinute: perMinute})
		for elapsed := range 5 {
			for range perMinute {
				_, _ = a.Limits.admit("ann", core.Actor{}) // until it is refused
			}
			_, err := a.Limits.admit("ann", core.Actor{})
			seconds, _ := strconv.Atoi(problemOf(err).header.Get("Retry-After"))
			clock.pass(time.Duration(seconds-1) * time.Second)
			if _, err := a.Limits.admit("ann", core.Actor{}); seconds > 1 && err == nil {
				t.Errorf("%d a minute: admitted a second before Retry-After", perMinute)
			}
			clock.pass(time.Second)
			if _, err := a.Limits.admit("ann", core.Actor{}); err != nil {
				t.Errorf("%d a minute: refused %d s after Retry-After", perMinute, seconds)
			}
			clock.pass(time.Duration(elapsed) * 137 * time.Millisecond)
		}
	}
}

func TestLimits_LeaveOthersAlone(t *testing.T) {
	t.Parallel()
	ann, bob, bank := core.Actor{Subject: "ann"}, core.Actor{Subject: "bob"}, core.Actor{Subject: "bank", Roles: []core.Role{core.System}}
	var refused []string
	limits := newTestLimits(t, LimitsConfig{
		RequestsPerMinute: 2, KeysPerMinute: 1, InFlight: 1, UnlimitedRoles: []core.Role{core.System},
		OnRefusal: func(limit string) { refused = append(refused, limit) },
	})
	use := func(scope idempotency.Scope, actor core.Actor) error {
		admitted, err := limits.admit(scope, actor)
		if err != nil {
			return err
		}
		return admitted.takeKey() // the request does not end
	}
	for i, want := range []wire.ProblemCode{"", "rate_limited", "rate_limited"} {
		if code := codeOf(use("ann", ann)); code != want {
			t.Errorf("request %d of ann: %q, want %q", i, code, want)
		}
	}
	if err := use("bob", bob); err != nil {
		t.Errorf("bob is refused: %v", err)
	}
	for range 10 {
		if err := use("bank", bank); err != nil {
			t.Errorf("the bank is refused: %v", err)
		}
	}
	if want := []string{"in_flight", "requests"}; !slices.Equal(refused, want) {
		t.Errorf("the refusals count as %v, want %v", refused, want)
	}
}

// Zero is no limit.
func TestLimits_AreOffAtZero(t *testing.T) {
	t.Parallel()
	limits := newTestLimits(t, LimitsConfig{})
	for range 100_000 {
		admitted, err := limits.admit("ann", core.Actor{})
		if err == nil {
			err = admitted.takeKey()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The place of a request is free again however the request ends.
func TestInFlight_EndsWithTheRequest(t *testing.T) {
	t.Parallel()
	a, _ := newClock().limited(t, LimitsConfig{InFlight: 1})
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
		if len(a.Limits.present) != 0 {
			t.Fatalf("after a %s, its principal is still present", name)
		}
	}
	if invalid := post(serveGuarded(a, succeed), cancelPath, "", `{}`); problemCode(t, invalid) != wire.ProblemCodeIdempotencyKeyRequired {
		t.Errorf("without a key: %d %s", invalid.Code, invalid.Body)
	}
	wantServed(t, post(serveGuarded(a, succeed), cancelPath, "key-1", `{}`))
}

func TestInFlight_RefusesTheRequestBeyond(t *testing.T) {
	t.Parallel()
	a, store := newClock().limited(t, LimitsConfig{InFlight: 2})
	entered, leave := make(chan struct{}), make(chan struct{})
	var waiting sync.WaitGroup
	hanging := serveAuthorised(a, route{
		method: http.MethodPost, pattern: cancelRoute, operation: "cancelOrder",
		handle: func(*request) (useCase, error) {
			return func(ctx context.Context) (*success, error) { entered <- struct{}{}; <-leave; return succeed(ctx) }, nil
		},
	})
	for range 2 {
		waiting.Go(func() { wantServed(t, post(hanging, cancelPath, "", `{}`)) })
		<-entered
	}
	wantLimited(t, post(serveGuarded(a, succeed), cancelPath, "key-1", `{}`), "1")
	if store.claims != 0 {
		t.Error("a refused request reached the store")
	}
	close(leave)
	waiting.Wait()
	wantServed(t, post(serveGuarded(a, succeed), cancelPath, "key-1", `{}`))
}

// However many principals come, only so many are remembered.
func TestLimits_BoundTheirMemory(t *testing.T) {
	t.Parallel()
	limits := newTestLimits(t, LimitsConfig{RequestsPerMinute: 1})
	for i := range maxBuckets + 10_000 {
		admitted, err := limits.admit(idempotency.Scope(strconv.Itoa(i)), core.Actor{})
		if err != nil {
			t.Fatal(err)
		}
		admitted.end()
	}
	limits.buckets.CleanUp()
	if n := limits.buckets.EstimatedSize(); n > maxBuckets || len(limits.present) != 0 {
		t.Errorf("%d principals are counted and %d present, want %d at most and none", n, len(limits.present), maxBuckets)
	}
}
