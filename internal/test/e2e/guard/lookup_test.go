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
			got := e2e.Want[map[string]any](t, c.Service, http.StatusOK, e2e.LookupCall(c.Call.Token, `"`+key+`"`)) // as the header may have it
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
			c.Exec(t, "UPDATE idempotency_record SET expires_at = now() - interval '1 second' WHERE scope = $1", c.Scope())
			there.WantProblem(t, http.StatusNotFound, "not_found", lookup)
		})
	}
}

// A client that got no answer must not take the running request for one that never
// arrived.
func TestGetIdempotencyKey_ReportsARunningRequest(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t)
	c := here.Prepare(t, e2e.GuardedRoutes()[0])
	key := c.NewKey()
	lookup := e2e.LookupCall(c.Call.Token, key)
	row := c.LockRow(t)
	sent := sendAll(t, []e2e.Call{c.WithKey(key)}, here)
	row.AwaitWaiter(t)
	for _, replica := range []*e2e.Service{here, there} {
		r := replica.Send(t, lookup)
		if want := `{"key":"` + key + `","state":"in_progress"}`; string(r.Body) != want || r.Header.Get("Retry-After") == "" {
			t.Errorf("while the request runs: %v %s, want Retry-After and %s", r.Header, r.Body, want)
		}
	}
	there.WantProblem(t, http.StatusNotFound, "not_found", e2e.LookupCall(c.Call.Token, key+"x"))
	row.Release()
	c.WantFirst(t, sent.await(t)[0], c.Status)
	if r := there.Send(t, lookup); r.Header.Get("Retry-After") != "" || !strings.Contains(string(r.Body), `"state":"completed"`) {
		t.Errorf("after the request: %v %s", r.Header, r.Body)
	}
}
