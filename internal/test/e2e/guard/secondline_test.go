package guard_test

import (
	"testing"

	"example.com/orders/internal/test/e2e"
)

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
