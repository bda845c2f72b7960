package faults

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// commitsInFlight counts failovers with a COMMIT that waited for the standby. Its
// client may have hung up, so that no client gets outcome_unknown.
const commitsInFlight = "commits that waited when the primary was killed"

// failoverFaults break a primary with a standby.
var failoverFaults = []Fault{
	{
		Name: "failover", Number: "F5", Short: true, Needs: world.Needs{Database: world.SynchronousStandby},
		Strike: failOver, Proof: []string{"failovers", commitsInFlight, world.UnavailableResponses},
	},
	{
		Name: "failover-asynchronous", Number: "F5", Needs: world.Needs{Database: world.AsynchronousStandby},
		Strike: failOverAsynchronously, Verdicts: verdictsOnLostOrders, Proof: []string{"failovers", world.UnavailableResponses, "effects lost by a failover", "lost keys that ran as new"},
	},
	{
		Name: "standby-gone", Number: "F6", Needs: world.Needs{Database: world.SynchronousStandby},
		Strike: stopStandby, Proof: []string{"standbys stopped", world.UnknownOutcomes, world.ReadsAlone},
	},
	{
		Name: "standby-gone-failover", Number: "F19", Needs: world.Needs{Database: world.SynchronousStandby},
		Strike: promoteStandbyThatWasGone,
		Proof:  []string{"standbys stopped", "failovers", world.UnknownOutcomes, world.ReadsAlone, "events that the standby lacked"},
	},
}

// verdictsOnLostOrders are answers to commands on orders lost in a failover. Other
// orders may have their numbers now.
var verdictsOnLostOrders = []string{"404 not_found", "403 forbidden_resource"}

// failOver kills the primary and promotes the standby. In half the runs the standby
// stops first, so that each COMMIT waits for it when the primary dies.
func failOver(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	if random.IntN(2) == 0 {
		l.Servers.StopStandby()
	}
	l.Servers.AwaitCommit(t)
	l.Counters.Add(commitsInFlight, 1)
	l.Promote(t)
}

// failOverAsynchronously promotes a standby that lacks the last commits. A lost key
// must run as new and keep its new response.
func failOverAsynchronously(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	l.Servers.StopStandby()
	l.AwaitDecided(clients.Pause)
	c := l.NewProbe()
	lost := creditSome(c)
	begun := l.History.Now()
	l.Promote(t)
	l.BeginAgain(begun)
	wantRunAsNew(t, c, lost)
}

// creditSome credits a customer a few times and returns the commands.
func creditSome(c *clients.Client) []clients.Operation {
	var finished []clients.Operation
	for range 5 {
		op := c.ChangeBalanceOf(clients.OneOf(c.Random, clients.Savers), "credit", 100)
		c.Finish(op)
		finished = append(finished, op)
	}
	return finished
}

// wantRunAsNew resends commands that the database has lost. Each runs as new, once.
func wantRunAsNew(t testing.TB, c *clients.Client, lost []clients.Operation) {
	t.Helper()
	for _, op := range lost {
		first, second := c.Finish(op), c.Finish(op)
		if first.Result != "created" || second.Result != "reused" || second.Response != first.Response {
			t.Errorf("a lost key does not run as new once:\n%v\n%v", first, second)
		}
		c.Counters.Add("lost keys that ran as new", 1)
	}
}

// stopStandby stops the standby until a command times out, and starts it again. Reads
// go on meanwhile.
func stopStandby(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	l.Servers.StopStandby()
	l.Counters.Add("standbys stopped", 1)
	l.Servers.AwaitCommit(t)
	l.Counters.UntilMore(t, world.UnknownOutcomes, 1, func() { wantReads(t, l, world.ReadsAlone) })
	l.Servers.StartStandby(t)
}

// wantReads reads the seller's newest orders from each replica, and counts that.
func wantReads(t testing.TB, l *clients.Load, counter string) {
	t.Helper()
	for _, r := range l.Replicas {
		service := e2e.Service{Env: l.Env, URL: r.URL, Client: &http.Client{Timeout: 5 * time.Second}}
		if got := service.Send(t, e2e.Get(l.SellerToken(t), "/orders?limit=100")); got.Status != http.StatusOK {
			t.Errorf("%s: %s", counter, got.Verdict())
		}
		l.Counters.Add(counter, 1)
	}
}

// promoteStandbyThatWasGone stops the standby until commands have timed out, and
// promotes it. Every event that the primary showed meanwhile must still be there. So
// must everything in the stream, which a check compares at the end: an event that the
// standby lacks becomes visible because its wait is cancelled.
func promoteStandbyThatWasGone(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	l.Servers.StopStandby()
	l.Counters.Add("standbys stopped", 1)
	writeEventThatTheStandbyLacks(t, l)
	var orders sync.WaitGroup
	for range 4 {
		c := l.NewProbe()
		orders.Go(func() { c.Finish(c.CreateOrder()) })
	}
	read := func() { wantReads(t, l, world.ReadsAlone) }
	l.Counters.UntilMore(t, world.UnknownOutcomes, 1, read)
	l.Counters.UntilMore(t, "attempts", 2*clients.Most, read) // new data becomes visible now
	var shown []string
	err := l.DB.QueryRow(t.Context(), `SELECT array_agg(event_id::text) FROM outbox WHERE aggregate != 'order/0'`).Scan(&shown)
	if err != nil {
		t.Fatal(err)
	}
	l.Promote(t)
	orders.Wait()
	if n := l.Count(t, `SELECT count(*) FROM outbox WHERE event_id::text = ANY($1)`, shown); n != len(shown) {
		t.Errorf("the primary showed %d events, and the failover left %d", len(shown), n)
	}
}

// writeEventThatTheStandbyLacks writes an event and cancels its COMMIT's wait.
func writeEventThatTheStandbyLacks(t testing.TB, l *clients.Load) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), l.Servers.PrimaryURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	written := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), `INSERT INTO outbox (event_id, type, aggregate, data, created_at)
			VALUES (gen_random_uuid(), 'order.created', 'order/0', '{}', now())`)
		written <- err
	}()
	e2e.Eventually(t, "the event is visible", func() bool {
		l.Exec(t, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'", conn.PgConn().PID())
		return len(written) == 1
	})
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	l.Counters.Add("events that the standby lacked", 1)
}
