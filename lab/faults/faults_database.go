package faults

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	pgtest "example.com/orders/internal/test/pg"
)

// databaseFaults break PostgreSQL or the link to it.
var databaseFaults = slices.Concat(serverFaults, linkFaults, failoverFaults, diskFaults, restoreFaults)

// serverFaults break a single server.
var serverFaults = []Fault{
	{
		Name: "killed-backends", Number: "F2", Short: true, Strikes: 3,
		Strike: killBackends, Proof: []string{"backends killed", "statements cancelled", unknownOutcomes, unavailableResponses},
	},
	{
		Name: "killed-server", Number: "F4", Short: true, Strikes: 2, Needs: Needs{Database: ownServer},
		Strike: killServer, Proof: []string{"servers killed", unknownOutcomes},
	},
	{
		Name: "exhausted-pool", Number: "F10", Short: true, Strikes: 2,
		Needs:  Needs{Connections: 4, Settings: []string{"ORDERS_IDEMPOTENCY_WAIT=500ms"}},
		Strike: exhaustPool, Proof: []string{keysInProgress, "operations decided beside a slow key"},
	},
}

// ownServer moves the system to a separate, durable server.
func ownServer(t testing.TB, s *System) {
	t.Helper()
	s.Server = pgtest.NewCluster(t, nil)
	s.DatabaseURL = pgtest.NewOn(t, s.Server)
}

// killBackends terminates transactions that have uncommitted writes until a client
// notices, and cancels others.
func killBackends(t testing.TB, s *System, _ *rand.Rand) {
	t.Helper()
	s.signalWriters(t, "pg_terminate_backend", "backends killed", unknownOutcomes)
	s.signalWriters(t, "pg_cancel_backend", "statements cancelled", unavailableResponses)
}

// signalWriters calls a PostgreSQL function for each backend with uncommitted writes
// until it has met one and clients notice. They may also notice an earlier strike.
func (s *System) signalWriters(t testing.TB, signal, counter, noticed string) {
	t.Helper()
	s.Counters.untilMore(t, noticed, 1, func() {
		s.Counters.untilMore(t, counter, 1, func() {
			s.Counters.Add(counter, s.Count(t, `SELECT count(*) FILTER (WHERE `+signal+`(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'orders' AND backend_xid IS NOT NULL`))
		})
	})
}

// killServer kills and restarts the server until a client has lost a command's outcome.
func killServer(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	s.Counters.untilMore(t, unknownOutcomes, 1, func() {
		s.load.awaitDecided(1 + random.Int64N(10))
		s.Server.Kill()
		s.Counters.Add("servers killed", 1)
		s.restartServer(t)
	})
}

func (s *System) restartServer(t testing.TB) {
	t.Helper()
	if err := s.Server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.DB.Reset() // its connections are broken
}

// duplicates is the number of simultaneous requests with a slow key: more than both
// pools have connections.
const duplicates = 16

// exhaustPool sends one key many times while a row lock delays the first request. Other
// requests must go on meanwhile.
func exhaustPool(t testing.TB, s *System, _ *rand.Rand) {
	t.Helper()
	customer := s.UniqueName("slow")
	credit := func(c *client) operation {
		op := c.changeBalanceOf(customer, "credit", 100)
		op.subject = "slow-bank"
		return op
	}
	first := s.newProbe()
	first.finish(credit(first)) // creates the row to lock
	lock := s.LockRows(t, `SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, customer)
	slow := credit(first)
	var all sync.WaitGroup
	for range duplicates {
		c := s.newProbe()
		all.Go(func() { c.finish(slow) })
	}
	lock.AwaitWaiter(t)
	before := s.load.decided.Load()
	s.load.awaitDecided(pause)
	s.Counters.awaitMore(t, keysInProgress, duplicates)
	s.Counters.Add("operations decided beside a slow key", int(s.load.decided.Load()-before))
	lock.Release()
	all.Wait()
}
