package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/idempotency"
)

// memoryStore is a store of idempotency records without transactions. It counts claims.
type memoryStore struct {
	records map[idempotency.ID]idempotency.Record
	results []idempotency.Result
	claims  int
	// runs is how often a command runs; all runs but the last are rolled back.
	runs int
	// refuse, if set, is the error of every claim.
	refuse error
}

// storedAt is when every record of a memoryStore is stored.
var storedAt = time.Date(2026, time.November, 4, 9, 30, 0, 0, time.UTC)

func newMemoryStore() *memoryStore {
	return &memoryStore{records: map[idempotency.ID]idempotency.Record{}, runs: 1}
}

func (s *memoryStore) Execute(ctx context.Context, claim idempotency.Claim, run idempotency.Command) (idempotency.Record, bool, error) {
	s.claims++
	if s.refuse != nil {
		return idempotency.Record{}, false, s.refuse
	}
	if record, found := s.records[claim.ID]; found {
		return record, true, nil
	}
	var result idempotency.Result
	var err error
	for range s.runs {
		result, err = run(ctx)
	}
	if err != nil {
		return idempotency.Record{}, false, err
	}
	s.results = append(s.results, result)
	s.records[claim.ID] = result.Record(claim, storedAt)
	return s.records[claim.ID], false, nil
}

func (s *memoryStore) Lookup(_ context.Context, id idempotency.ID) (idempotency.Record, bool, error) {
	record, found := s.records[id]
	return record, found, nil
}

// newTestAPI returns an API that keeps its idempotency records in store. It has no use
// cases behind it.
func newTestAPI(t *testing.T, store idempotency.LookupStore) *api {
	t.Helper()
	return &api{
		contract: testContract(t),
		guard:    newGuard(store, GuardConfig{TTL: 72 * time.Hour, RefusalTTL: 6 * time.Hour}),
		log:      requestLog{zerolog.Nop(), unobserved{}},
		Config:   Config{Limits: newTestLimits(t, LimitsConfig{})},
	}
}

// newTestLimits returns limits with enough to share.
func newTestLimits(t *testing.T, cfg LimitsConfig) *Limits {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.OnRefusal == nil {
		cfg.OnRefusal = func(string) {}
	}
	cfg.Share = cmp.Or(cfg.Share, 8)
	limits := NewLimits(cfg)
	t.Cleanup(limits.Close)
	return limits
}

// serveAuthorised serves one route to the customer ann, without the checks of token and
// role.
func serveAuthorised(a *api, rt route) http.Handler {
	router := chi.NewRouter()
	router.Use(a.log.request)
	router.Method(rt.method, rt.pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entryOf(r.Context()).guarded = rt.guarded()
		ann := core.Actor{Subject: "ann", Roles: []core.Role{core.Customer}}
		resp, err := a.admit(rt, w, &request{http: r, actor: ann, scope: "issuer ann"})
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		resp.write(w)
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

// problemCode returns the code of a problem document, empty for other responses.
func problemCode(t *testing.T, w *httptest.ResponseRecorder) wire.ProblemCode {
	t.Helper()
	if w.Header().Get("Content-Type") != problemMedia {
		return ""
	}
	var p wire.Problem
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("read the problem %s: %v", w.Body, err)
	}
	return p.Code
}

// codeOf returns the code that a client gets for an error, empty for no error.
func codeOf(err error) wire.ProblemCode {
	if err == nil {
		return ""
	}
	return problemOf(err).code
}
