package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
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
	replays  []time.Duration
}

func (o *observed) RequestBegan() { o.begun++ }

func (o *observed) RequestEnded(route, method string, status int, _ time.Duration) {
	o.requests = append(o.requests, method+" "+route+" "+strconv.Itoa(status))
}

func (o *observed) KeyEnded(outcome string)        { o.keys = append(o.keys, outcome) }
func (o *observed) DuplicateWaited(time.Duration)  {}
func (o *observed) RecordReplayed(d time.Duration) { o.replays = append(o.replays, d) }

// A method or a path that nobody knows may be a secret, and there is no end of them.
func TestObserve_NamesOnlyKnownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	var saw observed
	a := &api{Config: Config{Log: zerolog.Nop(), Observe: &saw}}
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
	a.Observe = to
	return serveGuarded(a, call)
}

func TestObserve_ReportsWhatBecameOfKeys(t *testing.T) {
	t.Parallel()
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
