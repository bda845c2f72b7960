package faults

import (
	"math/rand/v2"
	"sync"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// serverFaults break a single server.
var serverFaults = []Fault{
	{
		Name: "killed-backends", Number: "F2", Short: true, Strikes: 3,
		Strike: killBackends, Proof: []string{"backends killed", "statements cancelled", world.UnknownOutcomes, world.UnavailableResponses},
	},
	{
		Name: "killed-server", Number: "F4", Short: true, Strikes: 2, Needs: world.Needs{Database: world.OwnServer},
		Strike: killServer, Proof: []string{"servers killed", world.UnknownOutcomes},
	},
	{
		Name: "exhausted-pool", Number: "F10", Short: true, Strikes: 2,
		Needs:  world.Needs{Connections: 4, Settings: []string{"ORDERS_IDEMPOTENCY_WAIT=500ms"}},
		Strike: exhaustPool, Proof: []string{world.KeysInProgress, "operations decided beside a slow key"},
	},
}

// killBackends terminates transactions that have uncommitted writes until a client
// notices, and cancels others.
func killBackends(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	signalWriters(t, l, "pg_terminate_backend", "backends killed", world.UnknownOutcomes)
	signalWriters(t, l, "pg_cancel_backend", "statements cancelled", world.UnavailableResponses)
}

// signalWriters calls a PostgreSQL function for each backend with uncommitted writes
// until it has met one and clients notice. They may also notice an earlier strike.
func signalWriters(t testing.TB, l *clients.Load, signal, counter, noticed string) {
	t.Helper()
	l.Counters.UntilMore(t, noticed, 1, func() {
		l.Counters.UntilMore(t, counter, 1, func() {
			l.Counters.Add(counter, l.Count(t, `SELECT count(*) FILTER (WHERE `+signal+`(pid)) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'orders' AND backend_xid IS NOT NULL`))
		})
	})
}

// killServer kills and restarts the server until a client has lost a command's outcome.
func killServer(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	l.Counters.UntilMore(t, world.UnknownOutcomes, 1, func() {
		l.AwaitDecided(1 + random.Int64N(10))
		l.Server.Kill()
		l.Counters.Add("servers killed", 1)
		l.RestartServer(t)
	})
}

// duplicates is the number of simultaneous requests with a slow key: more than both
// pools have connections.
const duplicates = 16

// exhaustPool sends one key many times while a row lock delays the first request. Other
// requests must go on meanwhile.
func exhaustPool(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	customer := l.UniqueName("slow")
	credit := func(c *clients.Client) clients.Operation {
		op := c.ChangeBalanceOf(customer, "credit", 100)
		op.Subject = "slow-bank"
		return op
	}
	first := l.NewProbe()
	first.Finish(credit(first)) // creates the row to lock
	lock := l.LockRows(t, `SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, customer)
	slow := credit(first)
	var all sync.WaitGroup
	for range duplicates {
		c := l.NewProbe()
		all.Go(func() { c.Finish(slow) })
	}
	lock.AwaitWaiter(t)
	before := l.Decided.Load()
	l.AwaitDecided(clients.Pause)
	l.Counters.AwaitMore(t, world.KeysInProgress, duplicates)
	l.Counters.Add("operations decided beside a slow key", int(l.Decided.Load()-before))
	lock.Release()
	all.Wait()
}

// diskFaults are full disks. They need a mount and therefore root.
var diskFaults = []Fault{
	{
		Name: "full-disk", Number: "F9", Strikes: 2, Needs: world.Needs{Database: world.DataOnSmallDisk}, Strike: fillDisk,
		Proof: []string{"disks filled", "errors of a full disk", world.UnavailableResponses, "reads from a full disk"},
	},
	{
		Name: "full-wal-disk", Number: "F9", Strikes: 2, Needs: world.Needs{Database: world.WALOnSmallDisk}, Strike: fillWALDisk,
		Proof: []string{"disks filled", "panics of a full disk", world.UnavailableResponses},
	},
}

const noSpace = "No space left on device"

// fillDisk fills the data disk until the server refuses writes. Reads go on meanwhile.
func fillDisk(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	before := l.Disk.Logged(noSpace)
	release := l.Disk.Fill(t)
	l.Counters.Add("disks filled", 1)
	l.Counters.AwaitMore(t, world.UnavailableResponses, 1+random.IntN(20))
	wantReads(t, l, "reads from a full disk")
	l.Counters.Add("errors of a full disk", l.Disk.Logged(noSpace)-before)
	release()
}

// fillWALDisk fills the WAL disk until the server panics, and restarts it after
// release.
func fillWALDisk(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	before := l.Disk.Logged("PANIC")
	release := l.Disk.Fill(t)
	l.Counters.Add("disks filled", 1)
	e2e.Eventually(t, "the server panics", func() bool {
		// The clients alone would need minutes to fill a segment (16 MB). This fails
		// when the server panics.
		_, _ = l.DB.Exec(t.Context(), `SELECT pg_switch_wal()`)
		return l.Disk.Logged("PANIC") > before
	})
	l.Counters.Add("panics of a full disk", l.Disk.Logged("PANIC")-before)
	l.Counters.AwaitMore(t, world.UnavailableResponses, 1)
	release()
	l.RestartServer(t)
}
