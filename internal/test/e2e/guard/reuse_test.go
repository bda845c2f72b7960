package guard_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

func TestGuard_RefusesAnotherRequestUnderTheKey(t *testing.T) {
	t.Parallel()
	eachRoute(t, e2e.Start(t), func(t *testing.T, c e2e.Command) {
		key := c.NewKey()
		first := c.MustRun(t, key)
		others := map[string]e2e.Call{}
		if c.OtherBody != "" {
			others["another body"] = e2e.Call{Path: c.Call.Path, Body: c.OtherBody}
		}
		if c.OtherPath != "" {
			others["another path"] = e2e.Call{Path: c.OtherPath, Body: c.Call.Body}
		}
		for name, other := range others {
			t.Run(name, func(t *testing.T) {
				other.Method, other.Token, other.Key = c.Call.Method, c.Call.Token, key
				wantKeyReused(t, c.Service, other)
			})
		}
		c.WantEffects(t, 1)
		c.WantReplay(t, first, c.Send(t, c.WithKey(key)))
	})
}

// wantKeyReused sends a request whose key belongs to another one. The response says so,
// and nothing of the other one: neither its body nor when it expires.
func wantKeyReused(t testing.TB, s *e2e.Service, c e2e.Call) {
	t.Helper()
	r := s.WantProblem(t, http.StatusConflict, "idempotency_key_reused", c)
	var problem map[string]any
	if err := json.Unmarshal(r.Body, &problem); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"title", "detail"} {
		if value, _ := problem[text].(string); value == "" || strings.Contains(value, c.Key) {
			t.Errorf("the %s is missing, or mentions the key: %s", text, r.Body)
		}
		delete(problem, text)
	}
	path, _, _ := strings.Cut(c.Path, "?")
	if diff := cmp.Diff(map[string]any{
		"type":       "https://orders.example.com/problems/idempotency_key_reused",
		"status":     409.0,
		"instance":   path,
		"code":       "idempotency_key_reused",
		"request_id": r.Header.Get("X-Request-Id"),
		"retryable":  false,
		"next_key":   "look_up",
	}, problem); diff != "" {
		t.Errorf("the problem (-want +got): %s", diff)
	}
	for _, name := range []string{"Retry-After", "Location", "Idempotency-Expires", "Idempotency-Result", "Idempotent-Replayed"} {
		if got := r.Header.Get(name); got != "" {
			t.Errorf("%s is %q, want none", name, got)
		}
	}
}

// The second line of defence: unique indexes beside the effects know an operation for
// ever, when its idempotency record is long gone. They do not replace the check of the
// request: the key still belongs to its request, and another request has not taken it
// away. Late requests publish nothing.
func TestSecondLine_AnswersWhenRecordIsGone(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	here, there := env.StartReplica(t), env.StartReplica(t) // there has not seen the record
	for _, route := range e2e.GuardedRoutes() {
		t.Run(route, func(t *testing.T) {
			c := here.Prepare(t, route)
			key := c.NewKey()
			first := c.MustRun(t, key)
			events := c.Count(t, "SELECT count(*) FROM outbox")
			c.Exec(t, "DELETE FROM idempotency_record WHERE scope = $1", c.Scope())
			if c.OtherBody != "" {
				wantKeyReused(t, there, c.WithKey(key).WithBody(c.OtherBody))
				wantKeyReused(t, there, c.WithKey(key).WithBody(c.OtherBody))
			}

			late := there.Send(t, c.WithKey(key))

			wantSameResource(t, c, first, late)
			c.WantReplay(t, late, there.Send(t, c.WithKey(key)))
			c.WantEffects(t, 1)
			if n := c.Count(t, "SELECT count(*) FROM outbox"); n != events {
				t.Errorf("the late requests published %d events", n-events)
			}
		})
	}
}

// wantSameResource checks that a late retry got the first response, without a record.
func wantSameResource(t testing.TB, c e2e.Command, first, late e2e.Reply) {
	t.Helper()
	if !late.SameAs(first) || late.Header.Get("Location") != first.Header.Get("Location") {
		t.Errorf("first: %d %s, Location %q\nlate: %d %s, Location %q", first.Status, first.Body,
			first.Header.Get("Location"), late.Status, late.Body, late.Header.Get("Location"))
	}
	c.WantResult(t, late, "reused", "")
}
