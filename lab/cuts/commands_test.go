package cuts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/pg/wire"
)

// replicas are a replica behind the proxy and one that reaches the database directly.
type replicas struct {
	*cutter
	cut, direct *e2e.Service
}

// startReplicas starts both on a database of their own.
func startReplicas(t *testing.T, settings ...string) replicas {
	t.Helper()
	direct := startQuiet(t, e2e.NewEnv(t), settings...)
	c := newCutter(t, direct.Env)
	url := e2e.WithParameter(t, c.URL(), "pool_max_conns", "1")
	return replicas{c, startQuiet(t, direct.Env, append(settings, "ORDERS_DATABASE_URL="+url)...), direct}
}

// startQuiet starts a replica without a log, to which each cut would add an error.
func startQuiet(t *testing.T, env *e2e.Env, settings ...string) *e2e.Service {
	t.Helper()
	return env.StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.Nop() }, settings...)
}

// startShop is startReplicas with a check of the invariants when the test ends.
func startShop(t *testing.T, settings ...string) replicas {
	t.Helper()
	r := startReplicas(t, settings...)
	r.direct.StockUp(t, nil)
	return r
}

// command is a guarded command with the outcome that it must have.
type command struct {
	e2e.Command
	// answer is the verdict of the response once the command is decided.
	answer string
	// effects is how often it takes effect: once, or never if it is refused.
	effects int
	// cure removes the reason of a refusal; nil where there is none.
	cure func()
}

func effective(c e2e.Command) command {
	return command{Command: c, answer: strconv.Itoa(c.Status), effects: 1}
}

func refused(r e2e.Refusal) command {
	return command{Command: r.Command, answer: fmt.Sprintf("%d %s", r.RefusedStatus, r.Code), cure: r.Cure}
}

// cutCommand cuts the commands that prepare prepares, and retries them.
func (r replicas) cutCommand(t *testing.T, prepare func() command) {
	t.Helper()
	r.cutEverywhere(t, func() attempt {
		warm := prepare() // only the messages of the command itself remain
		if reply := r.cut.Send(t, warm.WithKey(r.direct.NewKey())); reply.Verdict() != warm.answer {
			t.Fatalf("the response is %s, want %s: %s", reply.Verdict(), warm.answer, reply.Body)
		}
		c := prepare()
		r.awaitIdle(t)
		return r.attempt(t, c)
	})
}

// attempt is a command and its retries.
func (r replicas) attempt(t *testing.T, c command) attempt {
	t.Helper()
	key := r.direct.NewKey()
	c.Command = c.On(r.cut)
	var first e2e.Reply
	return attempt{
		run: func() string {
			first = c.Send(t, c.WithKey(key))
			return first.Verdict()
		},
		resolve: func(at cut, _ string) {
			wantOutcome(t, at, first, c.answer)
			wantRetryable(t, first, true)
			r.wantKnown(t, c, key, first.Verdict() == c.answer || at.passed() > at.sendsCommit())
			r.wantDecidedOnce(t, c, key, first)
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
func wantOutcome(t *testing.T, at cut, first e2e.Reply, answer string) {
	t.Helper()
	var want []string
	begins, ends := at.commitTrip()
	switch passed := at.passed(); {
	case passed < begins:
		want = []string{"503 unavailable", answer}
	case passed == begins && at.verdict == wire.CutAfter:
		want = []string{"503 unavailable", "503 outcome_unknown"} // COMMIT may have been on its way
	case passed <= ends:
		want = []string{"503 outcome_unknown"}
	default:
		want = []string{answer}
	}
	wantAnyOf(t, first.Verdict(), want...)
}

// wantRetryable checks that a 503 names the time of a retry, if the request can be repeated
// without harm.
func wantRetryable(t *testing.T, first e2e.Reply, harmless bool) {
	t.Helper()
	want := first.Status == http.StatusServiceUnavailable && harmless
	if after := first.Header.Get("Retry-After"); (after != "") != want {
		t.Errorf("%s has Retry-After %q, want one: %t", first.Verdict(), after, want)
	}
}

// wantKnown checks that a look-up reports whether the command was decided, when the
// server has ended what was cut.
func (r replicas) wantKnown(t *testing.T, c command, key string, done bool) {
	t.Helper()
	var reply e2e.Reply
	var state string
	e2e.Eventually(t, "nothing runs with the key", func() bool {
		reply = r.direct.Send(t, e2e.LookupCall(c.Call.Token, key))
		state = stateOf(t, reply)
		return state != "in_progress"
	})
	if (reply.Status == http.StatusOK && state == "completed") != done || !done && reply.Status != http.StatusNotFound {
		t.Errorf("the look-up says %d %s; the command was decided: %v", reply.Status, state, done)
	}
	n := 0
	if done {
		n = c.effects
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

// wantDecidedOnce retries a command with its key until it is answered, as clients do.
func (r replicas) wantDecidedOnce(t *testing.T, c command, key string, first e2e.Reply) {
	t.Helper()
	answer := r.retry(t, c.Command, key)
	if answer.Verdict() != c.answer {
		t.Fatalf("the retry is answered %d %s, want %s", answer.Status, answer.Body, c.answer)
	}
	if first.Verdict() == c.answer {
		c.WantReplay(t, first, answer)
	}
	if n := c.RecordsSince(t); n != 1 {
		t.Errorf("the guard stored %d records, want 1", n)
	}
	if c.cure != nil {
		c.cure() // what was decided remains
	}
	c.WantReplay(t, answer, r.direct.Send(t, c.WithKey(key)))
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
