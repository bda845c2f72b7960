package httpguard_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

// memory is a store whose commands have texts as effects. It runs a command again after
// an error of lostRace, as a store does on a database.
type memory struct {
	mu      sync.Mutex
	records map[guard.ID]guard.Record
	effects []string
	// beforeCommit, if not nil, is called after a command. Its error is that of COMMIT.
	beforeCommit func() error
}

type lostRace struct{ error }

type effectsKey struct{}

// effect adds an effect to the transaction of a command.
func effect(ctx context.Context, text string) {
	pending := ctx.Value(effectsKey{}).(*[]string)
	*pending = append(*pending, text)
}

func (m *memory) Execute(ctx context.Context, c guard.Claim, run guard.Command) (guard.Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if rec, found := m.records[c.ID]; found {
		return rec, true, nil
	}
	var pending []string
	result, err := run(context.WithValue(ctx, effectsKey{}, &pending))
	for lost := (lostRace{}); asLostRace(err, &lost); {
		pending = nil
		result, err = run(context.WithValue(ctx, effectsKey{}, &pending))
	}
	if err == nil && m.beforeCommit != nil {
		err = m.beforeCommit()
	}
	if err != nil {
		return guard.Record{}, false, err
	}
	if !result.Refused {
		m.effects = append(m.effects, pending...)
	}
	rec := result.Record(c, time.Now())
	m.records[c.ID] = rec
	return rec, false, nil
}

// app is a guarded handler on a store in memory.
type app struct {
	*memory
	handler http.Handler
	log     *strings.Builder
	runs    int
}

// newApp returns an app whose middleware guards a handler. change may change the guard.
func newApp(handler http.HandlerFunc, change ...func(*httpguard.Config)) *app {
	a := &app{}
	a.guard(func(once *httpguard.Guard) http.Handler {
		return once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.runs++
			handler(w, r)
		}))
	}, change...)
	return a
}

// newTypedApp returns an app whose handler decodes the body as a text and executes it.
func newTypedApp(run func(context.Context, string) (httpguard.Reply, error), change ...func(*httpguard.Config)) *app {
	a := &app{}
	a.guard(func(once *httpguard.Guard) http.Handler {
		return httpguard.Handle(once, "transfer", decodeText, func(ctx context.Context, cmd string) (httpguard.Reply, error) {
			a.runs++
			return run(ctx, cmd)
		})
	}, change...)
	return a
}

func (a *app) guard(guarded func(*httpguard.Guard) http.Handler, change ...func(*httpguard.Config)) {
	a.memory, a.log = &memory{records: map[guard.ID]guard.Record{}}, &strings.Builder{}
	cfg := httpguard.Config{
		Store: a.memory, Scope: func(r *http.Request) guard.Scope { return guard.Scope(r.Header.Get("Principal")) },
		Log: slog.New(slog.NewTextHandler(a.log, nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	a.handler = guarded(httpguard.New(cfg))
}

// request returns a request with a key.
func request(t *testing.T, key, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/transfers", strings.NewReader(body))
	r.Header.Set("Principal", "alice")
	r.Header.Set("Idempotency-Key", key)
	return r
}

func (a *app) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w
}

// send sends a request with a key.
func (a *app) send(t *testing.T, key, body string) *httptest.ResponseRecorder {
	t.Helper()
	return a.serve(request(t, key, body))
}

// want checks an answer: its status, a text in it, and whether it is a replay.
func want(t *testing.T, w *httptest.ResponseRecorder, status int, text string, replayed bool) {
	t.Helper()
	marked := w.Header().Get("Idempotent-Replayed") == "true"
	if w.Code != status || !strings.Contains(w.Body.String(), text) || marked != replayed {
		t.Errorf("status %d, replayed = %v, %q; want %d, %v, %q", w.Code, marked, w.Body, status, replayed, text)
	}
}

func (a *app) wantEffects(t *testing.T, effects, runs int) {
	t.Helper()
	if len(a.effects) != effects || a.runs != runs {
		t.Errorf("effects %q after %d runs, want %d after %d", a.effects, a.runs, effects, runs)
	}
}
