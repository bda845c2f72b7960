package httpguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

func created(w http.ResponseWriter, r *http.Request) {
	effect(r.Context(), "paid")
	w.WriteHeader(http.StatusCreated)
}

func TestNew_NeedsAStoreAndAScope(t *testing.T) {
	t.Parallel()
	scope := func(*http.Request) guard.Scope { return "alice" }
	for _, cfg := range []httpguard.Config{{}, {Store: &memory{}}, {Scope: scope}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%+v is a guard", cfg)
				}
			}()
			httpguard.New(cfg)
		}()
	}
}

func TestScope_SeparatesPrincipalsAndRefusesStrangers(t *testing.T) {
	t.Parallel()
	a := newApp(created)
	stranger, bob := request(t, "key-1", `{}`), request(t, "key-1", `{}`)
	stranger.Header.Del("Principal")
	bob.Header.Set("Principal", "bob")
	want(t, a.send(t, "key-1", `{}`), http.StatusCreated, "", false)
	want(t, a.serve(stranger), http.StatusUnauthorized, `"code":"unauthenticated"`, false)
	want(t, a.serve(bob), http.StatusCreated, "", false)
	a.wantEffects(t, 2, 2)
}

// A quota counts new keys, once each, however often their handler runs.
func TestAdmit_IsAskedOnceForEachNewKey(t *testing.T) {
	t.Parallel()
	left, runs := 2, 0
	a := newApp(func(w http.ResponseWriter, r *http.Request) {
		runs++
		if runs == 1 {
			httpguard.Fail(r, lostRace{errors.New("deadlock detected")})
		}
		created(w, r)
	}, func(c *httpguard.Config) {
		c.Admit = func(*http.Request) bool { left--; return left >= 0 }
	})
	want(t, a.send(t, "key-1", `{}`), http.StatusCreated, "", false)
	want(t, a.send(t, "key-1", `{}`), http.StatusCreated, "", true)
	want(t, a.send(t, "key-2", `{}`), http.StatusCreated, "", false)
	w := a.send(t, "key-3", `{}`)
	want(t, w, http.StatusTooManyRequests, `"code":"too_many_keys"`, false)
	if w.Header().Get("Retry-After") == "" {
		t.Error("the answer says nothing about another try")
	}
	a.wantEffects(t, 2, 3)
}

func TestDone_GetsEveryOutcome(t *testing.T) {
	t.Parallel()
	var observed []string
	a := newApp(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status := map[string]int{"ok": 201, "refused": 402, "absent": 404}[string(body)]
		if status == 0 {
			httpguard.Fail(r, errors.New("disk full"))
			return
		}
		w.WriteHeader(status)
	}, func(c *httpguard.Config) {
		c.Done = func(r *http.Request, o httpguard.Outcome) {
			if o.Took <= 0 || o.Operation != "POST /transfers" || r.URL.Path != "/transfers" {
				t.Errorf("outcome %+v", o)
			}
			observed = append(observed, fmt.Sprint(o.Code, " ", o.Status, " ", o.Err))
		}
	})
	for _, step := range [][2]string{{"1", "ok"}, {"1", "ok"}, {"2", "refused"}, {"2", "refused"}, {"3", "absent"}, {"4", "full"}, {"1", "no"}, {"", "ok"}} {
		a.send(t, step[0], step[1])
	}
	expected := []string{
		"done 201 <nil>", "replayed 201 <nil>", "refused 402 <nil>", "replayed 402 <nil>", "undone 404 <nil>", "internal 500 disk full",
		"idempotency_key_reused 409 " + guard.ErrKeyReused.Error(), "idempotency_key_required 400 " + guard.ErrKeyRequired.Error(),
	}
	if got := strings.Join(observed, "\n"); got != strings.Join(expected, "\n") {
		t.Errorf("observed\n%s\nwant\n%s", got, strings.Join(expected, "\n"))
	}
}

// Problems of the guard and of commands are answered in the form of the service.
func TestError_WritesEveryProblem(t *testing.T) {
	t.Parallel()
	a := newTypedApp(func(context.Context, string) (httpguard.Reply, error) {
		return httpguard.Reply{}, httpguard.Problem{Status: 422, Code: "closed", Detail: "The account is closed."}
	}, func(c *httpguard.Config) {
		c.Error = func(w http.ResponseWriter, _ *http.Request, p httpguard.Problem) {
			w.WriteHeader(p.Status)
			_, _ = io.WriteString(w, "<"+p.Error()+">")
		}
	})
	want(t, a.send(t, "key 1", `{}`), 400, "<idempotency_key_invalid: ", false)
	want(t, a.send(t, "key-1", `{}`), 422, "<closed: The account is closed.>", false)
	want(t, a.send(t, "key-1", `{}`), 422, "<closed: The account is closed.>", true)
}

func TestTTL_IsThatOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for status, times := range map[int][2]time.Duration{201: {48 * time.Hour, 48 * time.Hour}, 402: {time.Hour, 48 * time.Hour}} {
		a := newApp(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, func(c *httpguard.Config) {
			c.TTL, c.RefusalTTL = 48*time.Hour, time.Hour
		})
		a.send(t, "key-1", `{}`)
		rec := a.records[guard.ID{Scope: "alice", Key: "key-1"}]
		if got := [2]time.Duration{rec.ReplayedUntil.Sub(rec.CreatedAt), rec.ExpiresAt.Sub(rec.CreatedAt)}; got != times {
			t.Errorf("%d: replayed and kept for %v, want %v", status, got, times)
		}
	}
}

func TestTimeout_EndsAHandler(t *testing.T) {
	t.Parallel()
	a := newApp(func(_ http.ResponseWriter, r *http.Request) {
		effect(r.Context(), "paid")
		<-r.Context().Done()
		httpguard.Fail(r, r.Context().Err())
	}, func(c *httpguard.Config) { c.Timeout = time.Millisecond })
	want(t, a.send(t, "key-1", `{}`), http.StatusServiceUnavailable, `"code":"timeout"`, false)
	a.wantEffects(t, 0, 1)
}
