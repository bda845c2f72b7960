package faults

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgproxy "example.com/orders/internal/test/pg/proxy"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// linkFaults break the link between a replica and PostgreSQL.
var linkFaults = []Fault{
	{
		Name: "link-reset", Number: "F3", Strikes: 6, Needs: world.Needs{Link: true},
		Strike: resetLink, Proof: []string{"conversations cut", "connections reset", "replicas without a database", world.UnavailableResponses},
	},
	{
		Name: "link-stall", Number: "F3", Needs: world.Needs{Link: true},
		Strike: stallLink, Proof: []string{"replicas without a database", world.UnavailableResponses, world.UnknownOutcomes},
	},
	{
		Name: "lost-commit-answer", Number: "F3", Short: true, Strikes: 4, Needs: world.Needs{Link: true},
		Strike: loseCommitAnswers, Proof: []string{"lost COMMIT answers", world.UnknownOutcomes, world.UnknownReplayed},
	},
}

// drawLink draws a replica and returns it with its link.
func drawLink(l *clients.Load, random *rand.Rand) (*world.Replica, *pgproxy.Proxy) {
	i := random.IntN(len(l.Links))
	return l.Replicas[i], l.Links[i]
}

// resetLink cuts one connection at a message, resets all the replica's other
// connections, and refuses new ones until the replica is not ready.
func resetLink(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	replica, link := drawLink(l, random)
	var messages atomic.Int64
	at := 1 + random.Int64N(100)
	verdict := []pgproxy.Verdict{pgproxy.CutBefore, pgproxy.CutWithin, pgproxy.CutAfter}[random.IntN(3)]
	cut, isCut := e2e.NewSignal()
	link.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
		if m.Statement == "" || messages.Add(1) != at {
			return pgproxy.Forward
		}
		isCut()
		return verdict
	})
	e2e.Receive(t, cut, "a conversation is cut")
	link.SetHook(nil)
	link.Refuse(true)
	l.Counters.Add("conversations cut", 1)
	l.Counters.Add("connections reset", link.CutAll())
	awaitNoDatabase(t, l, replica)
	link.Refuse(false)
	replica.Process.AwaitReady(t)
}

// stallLink stalls links until a command has given up after it sent COMMIT. The first
// one's client may have hung up before.
func stallLink(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	l.Counters.UntilMore(t, world.UnknownOutcomes, 1, func() { stallOnce(t, l, random) })
}

// stallOnce stalls a replica's connections to PostgreSQL until commands have given up.
// It begins when a command has sent COMMIT together with its record.
func stallOnce(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	replica, link := drawLink(l, random)
	resumed, resume := e2e.NewSignal()
	defer resume()
	var stalled atomic.Bool
	link.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
		if m.Kind == "CommandComplete" && strings.Contains(m.Statement, "INSERT INTO idempotency_record") {
			stalled.Store(true)
		}
		if stalled.Load() {
			<-resumed
		}
		return pgproxy.Forward
	})
	// Each client has at most one request there, and all time out after the same time.
	// So the first one is among them.
	l.Counters.AwaitMore(t, world.UnavailableResponses, clients.Most)
	awaitNoDatabase(t, l, replica)
	resume()
	link.SetHook(nil)
	replica.Process.AwaitReady(t)
}

// awaitNoDatabase waits until a replica reports that it is not ready.
func awaitNoDatabase(t testing.TB, l *clients.Load, r *world.Replica) {
	t.Helper()
	e2e.Eventually(t, "a replica notices that the database is gone", func() bool { return !r.IsReady() })
	l.Counters.Add("replicas without a database", 1)
}

// loseCommitAnswers resets connections from all replicas at the server's commit
// response, until a client has lost a command's outcome.
func loseCommitAnswers(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	var commits atomic.Int64
	each := 1 + random.Int64N(4)
	for _, link := range l.Links {
		link.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
			if !m.AnswersCommit() || commits.Add(1)%each != 0 {
				return pgproxy.Forward
			}
			l.Counters.Add("lost COMMIT answers", 1)
			return pgproxy.CutBefore
		})
	}
	l.Counters.AwaitMore(t, world.UnknownOutcomes, 3)
	for _, link := range l.Links {
		link.SetHook(nil)
	}
}
