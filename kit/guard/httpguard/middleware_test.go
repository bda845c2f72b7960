package httpguard_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

func TestMiddleware_KeepsWhatTheStatusSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status            int
		kept, withEffects bool
	}{
		{200, true, true}, {201, true, true}, {202, true, true}, {204, true, true},
		{402, true, false}, {409, true, false}, {422, true, false},
		{302, false, false}, {400, false, false}, {401, false, false}, {403, false, false}, {404, false, false},
		{412, false, false}, {429, false, false}, {500, false, false}, {503, false, false},
	} {
		a := newApp(func(w http.ResponseWriter, r *http.Request) {
			effect(r.Context(), "paid")
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, "answer")
		})
		first, second := a.send(t, "key-1", `{}`), a.send(t, "key-1", `{}`)
		want(t, first, c.status, "answer", false)
		want(t, second, c.status, "answer", c.kept)
		if !c.kept && first.Header().Get("WWW-Authenticate") != "Basic" {
			t.Errorf("%d: an answer that is not kept lost a header", c.status)
		}
		effects, runs := 0, 2
		if c.withEffects {
			effects = 1
		}
		if c.kept {
			runs = 1
		}
		a.wantEffects(t, effects, runs)
	}
}

// A framework may answer a returned error behind the guard.
func TestMiddleware_FailsAHandlerThatAnswersNothing(t *testing.T) {
	t.Parallel()
	a := newApp(func(_ http.ResponseWriter, r *http.Request) { effect(r.Context(), "paid") })
	for range 2 {
		want(t, a.send(t, "key-1", `{}`), http.StatusInternalServerError, `"code":"internal"`, false)
	}
	a.wantEffects(t, 0, 2)
	if !strings.Contains(a.log.String(), "no response") {
		t.Errorf("the log says %q", a.log)
	}
}

func TestMiddleware_AnswersAfterTheCommit(t *testing.T) {
	t.Parallel()
	a := newApp(func(w http.ResponseWriter, r *http.Request) {
		effect(r.Context(), "paid")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "paid")
	})
	w := httptest.NewRecorder()
	a.beforeCommit = func() error {
		if w.Body.Len() > 0 || len(w.Header()) > 0 {
			t.Errorf("before the commit, the client has %v %q", w.Header(), w.Body)
		}
		return fmt.Errorf("%w: connection lost", guard.ErrOutcomeUnknown)
	}
	a.handler.ServeHTTP(w, request(t, "key-1", `{}`))
	want(t, w, http.StatusServiceUnavailable, `"code":"outcome_unknown"`, false)
	if w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "paid") {
		t.Errorf("an unknown outcome is answered with %v %q", w.Header(), w.Body)
	}
}

func TestMiddleware_KeepsTwoHeadersAndSaysWhichItDrops(t *testing.T) {
	t.Parallel()
	a := newApp(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		w.Header().Set("Location", "/transfers/1")
		w.Header().Set("Set-Cookie", "session=1")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("Location", "/too-late")
		w.WriteHeader(http.StatusAccepted)
	})
	for i, w := range []*httptest.ResponseRecorder{a.send(t, "key-1", `{}`), a.send(t, "key-1", `{}`), a.send(t, "key-2", `{}`)} {
		want(t, w, http.StatusCreated, "", i == 1)
		got := fmt.Sprint(w.Header().Get("Content-Type"), w.Header().Get("Location"), w.Header().Get("Set-Cookie"))
		if got != "text/csv/transfers/1" || w.Header().Get("Idempotency-Expires") == "" || w.Header().Get("Idempotency-Key") == "" {
			t.Errorf("request %d: %v", i, w.Header())
		}
	}
	if n := strings.Count(a.log.String(), "Set-Cookie"); n != 1 {
		t.Errorf("the log names the header %d times, want once: %s", n, a.log)
	}
}

func TestMiddleware_SupportsNoStream(t *testing.T) {
	t.Parallel()
	a := newApp(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		if err := control.Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("flush: %v", err)
		}
		if _, _, err := control.Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("hijack: %v", err)
		}
		w.WriteHeader(http.StatusNoContent)
	})
	want(t, a.send(t, "key-1", `{}`), http.StatusNoContent, "", false)
}

// A second run gets the request as it came.
func TestMiddleware_RunsAHandlerAgainWithTheSameRequest(t *testing.T) {
	t.Parallel()
	var seen []string
	a := newApp(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, fmt.Sprint(string(body), r.ContentLength, r.Header.Get("Mark"), guard.KeyOf(r.Context())))
		r.Header.Set("Mark", "changed")
		effect(r.Context(), "paid")
		if len(seen) < 3 {
			httpguard.Fail(r, lostRace{errors.New("deadlock detected")})
		}
		w.WriteHeader(http.StatusCreated)
	})
	want(t, a.send(t, "key-1", "body"), http.StatusCreated, "", false)
	a.wantEffects(t, 1, 3)
	for _, got := range seen {
		if got != "body4key-1" {
			t.Errorf("a run saw %q", got)
		}
	}
}

func TestMiddleware_RollsAPanicBack(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"a bug":            func(http.ResponseWriter, *http.Request) { panic("a bug") },
		"an invalid state": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) },
		"a second guard":   newApp(created).handler.ServeHTTP,
	} {
		var codes []string
		a := newApp(func(w http.ResponseWriter, r *http.Request) {
			effect(r.Context(), "paid")
			handler(w, r)
		}, func(c *httpguard.Config) {
			c.Done = func(_ *http.Request, o httpguard.Outcome) { codes = append(codes, o.Code) }
		})
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the panic was swallowed", name)
				}
			}()
			a.send(t, "key-1", `{}`)
		}()
		a.wantEffects(t, 0, 1)
		if fmt.Sprint(codes) != "[panic]" {
			t.Errorf("%s: observed %v", name, codes)
		}
	}
}
