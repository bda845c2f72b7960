package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/contract"
	"example.com/orders/internal/adapters/in/http/limits"
	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/kit/guard"
)

// memoryStore is a store of idempotency records without transactions. It counts claims.
type memoryStore struct {
	records map[guard.ID]guard.Record
	results []guard.Result
	claims  int
	// runs is how often a command runs; all runs but the last are rolled back.
	runs int
	// refuse, if set, is the error of every claim.
	refuse error
}

// storedAt is when every record of a memoryStore is stored.
var storedAt = time.Date(2026, time.November, 4, 9, 30, 0, 0, time.UTC)

func newMemoryStore() *memoryStore {
	return &memoryStore{records: map[guard.ID]guard.Record{}, runs: 1}
}

func (s *memoryStore) Execute(ctx context.Context, claim guard.Claim, run guard.Command) (guard.Record, bool, error) {
	s.claims++
	if s.refuse != nil {
		return guard.Record{}, false, s.refuse
	}
	if record, found := s.records[claim.ID]; found {
		return record, true, nil
	}
	var result guard.Result
	var err error
	for range s.runs {
		result, err = run(ctx)
	}
	if err != nil {
		return guard.Record{}, false, err
	}
	s.results = append(s.results, result)
	s.records[claim.ID] = result.Record(claim, storedAt)
	return s.records[claim.ID], false, nil
}

func (s *memoryStore) Lookup(_ context.Context, id guard.ID) (guard.Record, bool, error) {
	record, found := s.records[id]
	return record, found, nil
}

func embeddedContract(t *testing.T) *contract.Contract {
	t.Helper()
	c, err := contract.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newTestAPI returns an API that keeps its idempotency records in store. It has no use
// cases behind it.
func newTestAPI(t *testing.T, store guard.LookupStore) *api {
	t.Helper()
	return &api{
		contract: embeddedContract(t),
		front:    newFront(store, GuardConfig{TTL: 72 * time.Hour, RefusalTTL: 6 * time.Hour}),
		Config: Config{
			Limits: newTestLimits(t, limits.Config{}), Share: unshared, Log: zerolog.Nop(), Observe: unobserved{},
		},
	}
}

// unshared gives each request what it needs at once.
func unshared(context.Context, guard.Scope, bool) (release func(), err error) {
	return func() {}, nil
}

// newTestLimits returns limits that nothing observes.
func newTestLimits(t *testing.T, cfg limits.Config) *limits.Limits {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OnExceeded == nil {
		cfg.OnExceeded = func(string) {}
	}
	l := limits.New(cfg)
	t.Cleanup(l.Close)
	return l
}

// serveAuthorised serves one route to the customer ann, without the checks of token and
// role.
func serveAuthorised(a *api, rt route) http.Handler {
	router := chi.NewRouter()
	router.Use(a.instrumented)
	router.Method(rt.method, rt.pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		describe(r, rt.pattern).guarded = rt.guarded()
		ann := core.Actor{Subject: "ann", Roles: []core.Role{core.Customer}}
		resp, err := a.answer(rt, w, &request{http: r, actor: ann, scope: "issuer ann"})
		a.respond(w, r, resp, err)
	}))
	return router
}

// post sends JSON with an Idempotency-Key.
func post(handler http.Handler, path, key, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {key}}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// problemOf returns a problem document, the zero one for other responses.
func problemOf(t *testing.T, w *httptest.ResponseRecorder) (p wire.Problem) {
	t.Helper()
	if w.Header().Get("Content-Type") != problem.MediaType {
		return p
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("read the problem %s: %v", w.Body, err)
	}
	return p
}

// problemCode returns the code of a problem document, empty for other responses.
func problemCode(t *testing.T, w *httptest.ResponseRecorder) wire.ProblemCode {
	t.Helper()
	return problemOf(t, w).Code
}

// codeOf returns the code that a client gets for an error, empty for no error.
func codeOf(err error) wire.ProblemCode {
	if err == nil {
		return ""
	}
	return problem.Of(err).Code
}

// unobserved ignores all events.
type unobserved struct{}

func (unobserved) RequestBegan()                                    {}
func (unobserved) RequestEnded(_, _ string, _ int, _ time.Duration) {}
func (unobserved) KeyEnded(string)                                  {}
func (unobserved) DuplicateWaited(time.Duration)                    {}
func (unobserved) RecordReplayed(time.Duration)                     {}
