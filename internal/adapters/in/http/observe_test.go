package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// observed records what an observer is called with.
type observed struct {
	begun    int
	requests []string
	keys     []string
	waits    []time.Duration
	replays  []time.Duration
}

func (o *observed) RequestBegan() { o.begun++ }

func (o *observed) RequestEnded(route, method string, status int, _ time.Duration) {
	o.requests = append(o.requests, method+" "+route+" "+strconv.Itoa(status))
}

func (o *observed) KeyEnded(outcome string)         { o.keys = append(o.keys, outcome) }
func (o *observed) DuplicateWaited(d time.Duration) { o.waits = append(o.waits, d) }
func (o *observed) RecordReplayed(d time.Duration)  { o.replays = append(o.replays, d) }

// A method or a path that nobody knows may be a secret, and there is no end of them.
func TestObserve_NamesOnlyKnownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	var saw observed
	a := &api{log: requestLog{zerolog.Nop(), &saw}}
	handler := a.router(nil, a.publicRoutes())
	for _, sent := range [][2]string{
		{"GET", "/health/live"}, {"GET", "/anna@example.com"}, {"hunter2", "/health/live"}, {"hunter2", "/x/../y?z"}, {"PUT", "/health/live"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, sent[1], http.NoBody)
		r.Method = sent[0]
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := []string{"GET /health/live 200", "GET none 404", "other none 405", "other none 405", "PUT none 405"}
	if diff := cmp.Diff(want, saw.requests); diff != "" || saw.begun != len(want) {
		t.Errorf("%d requests began; %s", saw.begun, diff)
	}
}

// serveObserved is serveCancel with an observer.
func serveObserved(t *testing.T, to Observer, store idempotency.LookupStore, call useCase) http.Handler {
	t.Helper()
	a := newTestAPI(t, store)
	a.log.observe = to
	return serveAuthorised(a, route{
		method: http.MethodPost, pattern: cancelRoute, operation: "cancelOrder", repeat: guarded,
		handle: func(*request) (useCase, error) { return call, nil },
	})
}

func TestObserve_ReportsWhatBecameOfKeys(t *testing.T) {
	t.Parallel()
	succeed := func(context.Context) (*success, error) { return &success{status: http.StatusOK, body: 1}, nil }
	repeat := func(context.Context) (*success, error) {
		return &success{status: http.StatusOK, body: 1, repeated: true}, nil
	}
	fail := func(err error) useCase { return func(context.Context) (*success, error) { return nil, err } }
	for name, c := range map[string]struct {
		call   useCase
		refuse error // of the store
		keys   []string
		want   []string
	}{
		"success and replay":     {call: succeed, keys: []string{"k", "k"}, want: []string{"created", "reused"}},
		"repeated operation":     {call: repeat, keys: []string{"k"}, want: []string{"reused"}},
		"refusal and its replay": {call: fail(core.InvalidField("/a", "d")), keys: []string{"k", "k"}, want: []string{"refused", "reused"}},
		"nothing found":          {call: fail(core.NotFound("order")), keys: []string{"k"}, want: []string{"failed"}},
		"defect":                 {call: fail(errors.New("a defect")), keys: []string{"k"}, want: []string{"failed"}},
		"COMMIT not answered":    {refuse: core.ErrOutcomeUnknown, keys: []string{"k"}, want: []string{"unknown"}},
		"in progress":            {refuse: idempotency.ErrInProgress, keys: []string{"k"}, want: []string{"in_progress"}},
		"reused":                 {refuse: idempotency.ErrKeyReused, keys: []string{"k"}, want: []string{"key_reused"}},
		"no key":                 {keys: []string{""}, want: []string{"key_required"}},
		"bad key":                {keys: []string{"a;b"}, want: []string{"key_invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var saw observed
			store := newMemoryStore()
			store.refuse = c.refuse
			handler := serveObserved(t, &saw, store, c.call)
			for _, key := range c.keys {
				post(handler, cancelPath, key, `{}`)
			}
			if diff := cmp.Diff(c.want, saw.keys); diff != "" {
				t.Error(diff)
			}
			if replays := slices.Contains(c.want, "reused") && len(c.keys) == 2; replays != (len(saw.replays) == 1) {
				t.Errorf("the ages of replays are %v", saw.replays)
			}
		})
	}
}

// A request that fails before its key is read, or whose route needs none, is no outcome.
func TestObserve_ReportsNoKeyThatWasNotUsed(t *testing.T) {
	t.Parallel()
	var saw observed
	handler := serveObserved(t, &saw, newMemoryStore(), nil)
	post(handler, "/elsewhere", "k", `{}`)
	post(handler, cancelPath+"?unknown=1", "k", `{}`)
	if len(saw.keys) != 0 || len(saw.requests) != 2 {
		t.Errorf("keys: %v of requests %v", saw.keys, saw.requests)
	}
}

// heldStore is a store in which another request holds the key for some calls.
type heldStore struct {
	idempotency.Store
	calls int
}

func (s *heldStore) Execute(
	_ context.Context, claim idempotency.Claim, _ idempotency.Command,
) (idempotency.Record, bool, error) {
	s.calls--
	if s.calls >= 0 {
		return idempotency.Record{}, false, idempotency.ErrInProgress
	}
	time.Sleep(time.Hour) // the request has the key now: it waits no longer
	return idempotency.Record{Claim: claim}, false, nil
}

func TestObserve_MeasuresHowLongDuplicatesWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, held := range []int{0, 1, 5} {
			var saw observed
			entry := &logEntry{}
			guard := idempotency.Guard{Store: timedStore{&heldStore{calls: held}}, Wait: time.Minute, Timeout: time.Minute}
			began := time.Now()
			_, _, err := guard.Do(context.WithValue(t.Context(), logKey{}, entry), idempotency.Request{}, nil)
			entry.report(&saw, "POST", 200, 0)
			want := []time.Duration{time.Since(began) - time.Hour}
			if held == 0 {
				want = nil
			}
			if diff := cmp.Diff(want, saw.waits); err != nil || diff != "" {
				t.Errorf("%d calls: %v, %s", held, err, diff)
			}
		}
	})
}
