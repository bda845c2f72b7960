package faults

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgproxy "example.com/orders/internal/test/pg/proxy"
)

// linkFaults break the link between a replica and PostgreSQL.
var linkFaults = []Fault{
	{
		Name: "link-reset", Number: "F3", Strikes: 6, Needs: Needs{Link: true},
		Strike: resetLink, Proof: []string{"conversations cut", "connections reset", "replicas without a database", unavailableResponses},
	},
	{
		Name: "link-stall", Number: "F3", Needs: Needs{Link: true},
		Strike: stallLink, Proof: []string{"replicas without a database", unavailableResponses, unknownOutcomes},
	},
	{
		Name: "lost-commit-answer", Number: "F3", Short: true, Strikes: 4, Needs: Needs{Link: true},
		Strike: loseCommitAnswers, Proof: []string{"lost COMMIT answers", unknownOutcomes, unknownReplayed},
	},
}

// drawLink draws a replica and returns it with its link.
func (s *System) drawLink(random *rand.Rand) (*Replica, *pgproxy.Proxy) {
	i := random.IntN(len(s.Links))
	return s.Replicas[i], s.Links[i]
}

// resetLink cuts one connection at a message, resets all the replica's other
// connections, and refuses new ones until the replica is not ready.
func resetLink(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	replica, link := s.drawLink(random)
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
	s.Counters.Add("conversations cut", 1)
	s.Counters.Add("connections reset", link.CutAll())
	s.awaitNoDatabase(t, replica)
	link.Refuse(false)
	replica.process.AwaitReady(t)
}

// stallLink stalls links until a command has given up after it sent COMMIT. The first
// one's client may have hung up before.
func stallLink(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	s.Counters.untilMore(t, unknownOutcomes, 1, func() { s.stallOnce(t, random) })
}

// stallOnce stalls a replica's connections to PostgreSQL until commands have given up.
// It begins when a command has sent COMMIT together with its record.
func (s *System) stallOnce(t testing.TB, random *rand.Rand) {
	t.Helper()
	replica, link := s.drawLink(random)
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
	s.Counters.awaitMore(t, unavailableResponses, mostClients)
	s.awaitNoDatabase(t, replica)
	resume()
	link.SetHook(nil)
	replica.process.AwaitReady(t)
}

// awaitNoDatabase waits until a replica reports that it is not ready.
func (s *System) awaitNoDatabase(t testing.TB, r *Replica) {
	t.Helper()
	e2e.Eventually(t, "a replica notices that the database is gone", func() bool { return !r.process.IsOK(ready) })
	s.Counters.Add("replicas without a database", 1)
}

// loseCommitAnswers resets connections from all replicas at the server's commit
// response, until a client has lost a command's outcome.
func loseCommitAnswers(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	var commits atomic.Int64
	each := 1 + random.Int64N(4)
	for _, link := range s.Links {
		link.SetHook(func(m pgproxy.Message) pgproxy.Verdict {
			if !m.AnswersCommit() || commits.Add(1)%each != 0 {
				return pgproxy.Forward
			}
			s.Counters.Add("lost COMMIT answers", 1)
			return pgproxy.CutBefore
		})
	}
	s.Counters.awaitMore(t, unknownOutcomes, 3)
	for _, link := range s.Links {
		link.SetHook(nil)
	}
}
