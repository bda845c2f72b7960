package guard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

func TestGetIdempotencyKey_ReportsCommandAndStatus(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := here.Prepare(t, route)
			key := c.UniqueName("7?a=b%20&c#d") // a key is not a URL, whatever it looks like
			lookup := e2e.LookupCall(c.Call.Token, key)
			c.WantProblem(t, http.StatusNotFound, "not_found", lookup)
			first := c.MustRun(t, key)
			got := e2e.Want[map[string]any](t, c.Service, http.StatusOK, lookup)
			var created, expires time.Time
			if err := c.DB.QueryRow(t.Context(), "SELECT created_at, expires_at FROM idempotency_record WHERE key = $1",
				key).Scan(&created, &expires); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any{
				"key": key, "state": "completed", "command": c.Operation.ID, "status": float64(first.Status),
				"created_at": created.UTC().Format(time.RFC3339Nano), "expires_at": expires.UTC().Format(time.RFC3339Nano),
			}, got); diff != "" {
				t.Errorf("what became of the key (-want +got):\n%s", diff)
			}
			c.WantProblem(t, http.StatusNotFound, "not_found", lookup.WithToken(c.Token(t, c.UniqueName("stranger"), c.Role)))
			c.Exec(t, recordEnds["expired"], c.Scope())
			there.WantProblem(t, http.StatusNotFound, "not_found", lookup)
		})
	}
}

func TestGetIdempotencyKey_ReportsRefusal(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	for _, refusal := range e2e.GuardedRefusals() {
		t.Run(refusal.String(), func(t *testing.T) {
			t.Parallel()
			r := s.PrepareRefusal(t, refusal)
			key := r.NewKey()
			lookup := e2e.LookupCall(r.Call.Token, key)
			r.WantProblem(t, http.StatusNotFound, "not_found", lookup)
			r.WantProblem(t, r.RefusedStatus, r.Code, r.WithKey(key))
			type outcome struct {
				Key, State, Command string
				Status              int
			}
			want := outcome{key, "completed", r.Operation.ID, r.RefusedStatus}
			if diff := cmp.Diff(want, e2e.Want[outcome](t, r.Service, http.StatusOK, lookup)); diff != "" {
				t.Errorf("what became of the key (-want +got):\n%s", diff)
			}
			r.WantProblem(t, http.StatusNotFound, "not_found", lookup.WithToken(r.Token(t, r.UniqueName("stranger"), r.Role)))
		})
	}
}

// A client that got no answer must not take the running request for one that never
// arrived.
func TestGetIdempotencyKey_ReportsARunningRequest(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t)
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			c := here.Prepare(t, route)
			key := c.NewKey()
			lookup := e2e.LookupCall(c.Call.Token, key)
			row := c.LockRow(t)
			replies := make(chan e2e.Reply, 1)
			go func() {
				r, err := here.Try(t.Context(), t, c.WithKey(key))
				if err != nil {
					t.Error(err)
				}
				replies <- r
			}()
			row.AwaitWaiter(t)
			for _, replica := range []*e2e.Service{here, there} {
				r := replica.Send(t, lookup)
				if want := `{"key":"` + key + `","state":"in_progress"}`; string(r.Body) != want || r.Header.Get("Retry-After") == "" {
					t.Errorf("while the request runs: %v %s, want Retry-After and %s", r.Header, r.Body, want)
				}
			}
			there.WantProblem(t, http.StatusNotFound, "not_found", e2e.LookupCall(c.Call.Token, key+"x"))
			row.Release()
			c.WantFirst(t, e2e.Receive(t, replies, "the request is answered"), c.Status)
			if r := there.Send(t, lookup); r.Header.Get("Retry-After") != "" || !strings.Contains(string(r.Body), `"state":"completed"`) {
				t.Errorf("after the request: %v %s", r.Header, r.Body)
			}
		})
	}
}

// The key in the path is what the header would have been.
func TestGetIdempotencyKey_ParsesTheKeyAsTheHeaderIsParsed(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	token := s.SystemToken(t)
	credit := s.CreditCall(t, e2e.Alice, "10.00").WithKey(`"abc"`)
	s.MustSend(t, credit)
	for _, spelling := range []string{"abc", "%22abc%22"} {
		got := e2e.Want[map[string]any](t, s, http.StatusOK, e2e.Get(token, "/idempotency-keys/"+spelling))
		if got["key"] != "abc" || got["state"] != "completed" {
			t.Errorf("%s: %v, want the credit", spelling, got)
		}
	}
	for _, noKey := range []string{"%20", "%22%22", "%22abc", "a,b", "a%20b", "%00", "%D1%87", strings.Repeat("a", 256)} {
		r := s.WantProblem(t, http.StatusBadRequest, "idempotency_key_invalid", e2e.Get(token, "/idempotency-keys/"+noKey))
		if r.NextKey() != "" {
			t.Errorf("%s: next_key is %q on a route without a key", noKey, r.NextKey())
		}
	}
}
