package faults

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// commitsInFlight counts failovers with a COMMIT that waited for the standby. Its
// client may have hung up, so that no client gets outcome_unknown.
const commitsInFlight = "commits that waited when the primary was killed"

// failoverFaults break a primary with a standby.
var failoverFaults = []Fault{
	{
		Name: "failover", Number: "F5", Short: true, Needs: Needs{Database: synchronousStandby},
		Strike: failOver, Proof: []string{"failovers", commitsInFlight, unavailableResponses},
	},
	{
		Name: "failover-asynchronous", Number: "F5", Needs: Needs{Database: asynchronousStandby},
		Strike: failOverAsynchronously, Verdicts: verdictsOnLostOrders, Proof: []string{"failovers", unavailableResponses, "effects lost by a failover", "lost keys that ran as new"},
	},
	{
		Name: "standby-gone", Number: "F6", Needs: Needs{Database: synchronousStandby},
		Strike: stopStandby, Proof: []string{"standbys stopped", unknownOutcomes, readsAlone},
	},
	{
		Name: "standby-gone-failover", Number: "F19", Needs: Needs{Database: synchronousStandby},
		Strike: promoteStandbyThatWasGone,
		Proof:  []string{"standbys stopped", "failovers", unknownOutcomes, readsAlone, "events that the standby lacked"},
	},
}

// verdictsOnLostOrders are answers to commands on orders lost in a failover. Other
// orders may have their numbers now.
var verdictsOnLostOrders = []string{"404 not_found", "403 forbidden_resource"}

// synchronousStandby moves the system to a primary that waits for its standby.
func synchronousStandby(t testing.TB, s *System) {
	t.Helper()
	asynchronousStandby(t, s)
	s.Servers.SetSynchronous(t, true)
}

// asynchronousStandby moves the system to a primary that does not wait for its standby.
func asynchronousStandby(t testing.TB, s *System) {
	t.Helper()
	s.Servers = pgtest.NewReplicated(t)
	s.DatabaseURL = s.Servers.URL()
}

// failOver kills the primary and promotes the standby. In half the runs the standby
// stops first, so that each COMMIT waits for it when the primary dies.
func failOver(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	if random.IntN(2) == 0 {
		s.Servers.StopStandby()
	}
	s.Servers.AwaitCommit(t)
	s.Counters.Add(commitsInFlight, 1)
	s.promote(t)
}

// promote kills the primary, promotes the standby, and waits until the replicas use it.
func (s *System) promote(t testing.TB) {
	t.Helper()
	s.Servers.Promote(t)
	s.DB.Reset() // its connections are broken
	s.Counters.Add("failovers", 1)
	for _, r := range s.Replicas {
		r.process.AwaitReady(t)
	}
}

// failOverAsynchronously promotes a standby that lacks the last commits. A lost key
// must run as new and keep its new response.
func failOverAsynchronously(t testing.TB, s *System, _ *rand.Rand) {
	t.Helper()
	s.Servers.StopStandby()
	s.load.awaitDecided(pause)
	c := s.newProbe()
	lost := c.creditSome()
	begun := s.History.Now()
	s.promote(t)
	s.load.beginAgain(begun)
	c.wantRunAsNew(lost)
}

// creditSome credits a customer a few times and returns the commands.
func (c *client) creditSome() []operation {
	var finished []operation
	for range 5 {
		op := c.changeBalanceOf(oneOf(c.random, savers), "credit", 100)
		c.finish(op)
		finished = append(finished, op)
	}
	return finished
}

// wantRunAsNew resends commands that the database has lost. Each runs as new, once.
func (c *client) wantRunAsNew(lost []operation) {
	for _, op := range lost {
		first, second := c.finish(op), c.finish(op)
		if first.Result != "created" || second.Result != "reused" || second.Response != first.Response {
			c.t.Errorf("a lost key does not run as new once:\n%v\n%v", first, second)
		}
		c.Counters.Add("lost keys that ran as new", 1)
	}
}

// stopStandby stops the standby until a command times out, and starts it again. Reads
// go on meanwhile.
func stopStandby(t testing.TB, s *System, _ *rand.Rand) {
	t.Helper()
	s.Servers.StopStandby()
	s.Counters.Add("standbys stopped", 1)
	s.Servers.AwaitCommit(t)
	s.Counters.untilMore(t, unknownOutcomes, 1, func() {
		for _, r := range s.Replicas {
			s.wantRead(t, r, readsAlone)
		}
	})
	s.Servers.StartStandby(t)
}

// wantRead reads the seller's newest orders, and counts that.
func (s *System) wantRead(t testing.TB, r *Replica, counter string) (got e2e.Reply) {
	t.Helper()
	service := e2e.Service{Env: s.Env, URL: r.URL, Client: &http.Client{Timeout: 5 * time.Second}}
	if got = service.Send(t, e2e.Get(s.SellerToken(t), "/orders?limit=100")); got.Status != http.StatusOK {
		t.Errorf("%s: %s", counter, got.Verdict())
	}
	s.Counters.Add(counter, 1)
	return got
}
