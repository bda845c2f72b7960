package cuts_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/pg/wire"
)

// replicas are a replica behind the proxy and one that reaches the database directly.
type replicas struct {
	*cutter
	cut, direct *e2e.Service
}

func startReplicas(t *testing.T, settings ...string) replicas {
	t.Helper()
	direct := e2e.StartShop(t, nil, settings...)
	c := newCutter(t, direct.Env)
	url := e2e.WithParameter(t, c.URL(), "pool_max_conns", "1")
	return replicas{c, direct.StartReplica(t, append(settings, "ORDERS_DATABASE_URL="+url)...), direct}
}

// prepare prepares a command and warms the replica up, so that only the messages of the
// command itself remain.
func (r replicas) prepare(t *testing.T, route string) e2e.Command {
	t.Helper()
	r.direct.Prepare(t, route).On(r.cut).MustRun(t, r.direct.NewKey())
	c := r.direct.Prepare(t, route).On(r.cut)
	r.awaitIdle(t)
	return c
}

func TestCommand_TakesEffectOnceWhereverItIsCut(t *testing.T) {
	t.Parallel()
	names := draw(t, e2e.GuardedRoutes())
	if !slices.Contains(names, "creditBalance") {
		names = append(names, "creditBalance")
	}
	for _, route := range names {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			r := startReplicas(t)
			r.cutEverywhere(t, func() attempt { return r.attempt(t, route) })
		})
	}
}

// attempt is a command and its retries.
func (r replicas) attempt(t *testing.T, route string) attempt {
	t.Helper()
	c, key := r.prepare(t, route), r.direct.NewKey()
	var first e2e.Reply
	return attempt{
		run: func() string {
			first = c.Send(t, c.WithKey(key))
			return first.Verdict()
		},
		resolve: func(at cut, _ string) {
			r.wantOutcome(t, at, first)
			r.wantKnown(t, c, key, first.Status == c.Status || at.passed() > at.sendsCommit())
			r.wantOneEffect(t, c, key, first)
		},
	}
}

// sendsCommit returns the index of the message that makes the server commit.
func (c cut) sendsCommit() int {
	return slices.IndexFunc(c.script, func(m wire.Message) bool { return m.Kind == "Execute" && m.Statement == "commit" })
}

// commitTrip returns the indexes of the first and the last message of the round trip with
// COMMIT.
func (c cut) commitTrip() (first, last int) {
	sends := c.sendsCommit()
	for first = sends; first > 0 && c.script[first-1].From == wire.Client; first-- {
	}
	return first, sends + slices.IndexFunc(c.script[sends:], func(m wire.Message) bool { return m.Kind == "ReadyForQuery" })
}

// wantOutcome checks the first response: before COMMIT leaves the service, nothing was
// done or the service did it after all; from then until the whole answer is there, the
// outcome is unknown; and it is known after that.
func (r replicas) wantOutcome(t *testing.T, at cut, first e2e.Reply) {
	t.Helper()
	var want []string
	begins, ends := at.commitTrip()
	switch passed := at.passed(); {
	case passed < begins:
		want = []string{"503 unavailable", "200", "201"}
	case passed == begins && at.verdict == wire.CutAfter:
		want = []string{"503 unavailable", "503 outcome_unknown"} // COMMIT may have been on its way
	case passed <= ends:
		want = []string{"503 outcome_unknown"}
	default:
		want = []string{"200", "201"}
	}
	if !slices.Contains(want, first.Verdict()) {
		t.Errorf("the response is %s, want one of %q: %s", first.Verdict(), want, first.Body)
	}
	if first.Status == http.StatusServiceUnavailable && first.Header.Get("Retry-After") == "" {
		t.Error("the response has no Retry-After")
	}
}

// wantKnown checks that a look-up reports whether the command took effect, when the
// server has ended what was cut.
func (r replicas) wantKnown(t *testing.T, c e2e.Command, key string, done bool) {
	t.Helper()
	var reply e2e.Reply
	var state string
	e2e.Eventually(t, "nothing runs with the key", func() bool {
		reply = r.direct.Send(t, e2e.LookupCall(c.Call.Token, key))
		state = stateOf(t, reply)
		return state != "in_progress"
	})
	if (reply.Status == http.StatusOK && state == "completed") != done || !done && reply.Status != http.StatusNotFound {
		t.Errorf("the look-up says %d %s; the command took effect: %v", reply.Status, state, done)
	}
	n := 0
	if done {
		n = 1
	}
	c.WantEffects(t, n)
}

func stateOf(t *testing.T, r e2e.Reply) string {
	t.Helper()
	var key struct{ State string }
	if err := json.Unmarshal(r.Body, &key); err != nil {
		t.Fatal(err)
	}
	return key.State
}

// wantOneEffect retries a command with its key until it is answered, as clients do.
func (r replicas) wantOneEffect(t *testing.T, c e2e.Command, key string, first e2e.Reply) {
	t.Helper()
	answer := r.retry(t, c, key)
	if answer.Status != c.Status {
		t.Fatalf("the retry is answered %d %s, want %d", answer.Status, answer.Body, c.Status)
	}
	if first.Status == c.Status {
		c.WantReplay(t, first, answer)
	}
	c.WantReplay(t, answer, r.direct.Send(t, c.WithKey(key)))
	c.WantEffects(t, 1)
	if n := c.RecordsSince(t); n != 1 {
		t.Errorf("the guard stored %d records, want 1", n)
	}
	r.wantKnown(t, c, key, true)
}

// retry sends a command until it is answered. The connections of a replica are whole
// again by then: no answer may be lost more than once.
func (r replicas) retry(t *testing.T, c e2e.Command, key string) e2e.Reply {
	t.Helper()
	var reply e2e.Reply
	for range 3 {
		if reply = c.Send(t, c.WithKey(key)); reply.Status != http.StatusServiceUnavailable {
			return reply
		}
	}
	t.Fatalf("three retries were answered 503, the last %s", reply.Body)
	return reply
}
