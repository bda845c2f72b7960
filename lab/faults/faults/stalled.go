package faults

import (
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// stalledFaults are replicas that stop for a while and continue unaware.
var stalledFaults = []Fault{
	{
		Name: "stalled-replica", Number: "F18", Short: true,
		Needs:  world.Needs{Settings: []string{"ORDERS_IDEMPOTENCY_WAIT=1s"}},
		Strike: stallInTransaction,
		Proof: []string{
			"stalls in a transaction", "keys that a stalled replica held", "rows that a stalled replica locked",
			"commands beside a stalled replica",
		},
	},
	{
		Name: "long-stalled-replica", Number: "F18",
		Needs:  world.Needs{Settings: []string{"ORDERS_IDEMPOTENCY_WAIT=1s"}},
		Strike: stallEachForLong,
		Proof:  []string{"transactions of a stalled replica that ended", "leases that moved", "rows that a stalled replica locked"},
	},
}

// stall is a replica that was stopped while its transaction holds a key and a row.
type stall struct {
	*clients.Load
	stopped, other *world.Replica
	customer       string
	// call is the transaction's command.
	call  e2e.Call
	ended <-chan world.Ending
	// waiting is another command on the row, at the other replica.
	waiting      e2e.Call
	waitingEnded <-chan world.Ending
}

// startStall stops a replica between a command's statements.
func startStall(t testing.TB, l *clients.Load, stopped *world.Replica) *stall {
	t.Helper()
	st := &stall{Load: l, stopped: stopped, other: l.Other(stopped)}
	st.customer = l.NewCustomer(t, st.other)
	balance := l.LockBalance(t, st.customer)
	st.call = l.CreditCall(t, st.customer, "1.00")
	st.ended = l.SendAside(t, stopped, st.call)
	balance.AwaitWaiter(t)
	stopped.Process.Pause(t)
	balance.Release() // the server grants the lock to the stopped replica, which does not notice
	e2e.Eventually(t, "the stopped replica holds the row", func() bool { return st.holds(t) })
	l.Counters.Add("stalls in a transaction", 1)
	return st
}

// holds reports whether an idle transaction holds the customer's balance.
func (st *stall) holds(t testing.TB) bool {
	t.Helper()
	free := st.Count(t, `SELECT count(*) FROM (SELECT FROM balance WHERE customer_id = $1 FOR UPDATE SKIP LOCKED) b`, st.customer)
	return free == 0 && st.Count(t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'idle in transaction'`) > 0
}

// checkOthers checks the other replica meanwhile.
func (st *stall) checkOthers(t testing.TB) {
	t.Helper()
	service := st.ServiceAt(st.other)
	service.WantProblem(t, http.StatusConflict, "idempotency_in_progress", st.call)
	st.Counters.Add("keys that a stalled replica held", 1)

	st.waiting = st.CreditCall(t, st.customer, "1.00")
	st.waitingEnded = st.SendAside(t, st.other, st.waiting)
	for range 5 {
		st.NewCustomer(t, st.other)
		st.Counters.Add("commands beside a stalled replica", 1)
	}
	if st.holds(t) {
		st.Counters.Add("rows that a stalled replica locked", 1)
	}
}

// end resumes the replica, and checks that each command takes effect once.
func (st *stall) end(t testing.TB) {
	t.Helper()
	st.stopped.Process.Signal(t, syscall.SIGCONT)
	e2e.Receive(t, st.ended, "the stalled command ends")
	e2e.Receive(t, st.waitingEnded, "the command behind it ends")
	for _, call := range []e2e.Call{st.call, st.waiting} {
		st.WantCredited(t, st.other, call)
		st.WantCredited(t, st.stopped, call)
	}
	st.stopped.Process.AwaitReady(t)
}

func stallInTransaction(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	st := startStall(t, l, l.Draw(random))
	st.checkOthers(t)
	st.end(t)
}

// stallEachForLong stops one replica after the other, until the server has ended its
// transactions and the other one relays. One of the two held the relay lease.
func stallEachForLong(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	for _, i := range random.Perm(len(l.Replicas)) {
		holder := leaseHolder(t, l)
		st := startStall(t, l, l.Replicas[i])
		st.checkOthers(t)
		e2e.Eventually(t, "the server ends the transaction of the stalled replica", func() bool { return !st.holds(t) })
		l.Counters.Add("transactions of a stalled replica that ended", 1)
		got := e2e.Receive(t, st.waitingEnded, "the command behind the stalled one ends")
		t.Logf("the command that waited for a stalled replica ended with %s, %v", got.Reply.Verdict(), got.Err)
		st.waitingEnded = st.SendAside(t, st.other, st.waiting)
		e2e.Eventually(t, "the other replica relays", func() bool {
			return countUnpublished(t, l) == 0
		})
		if leaseHolder(t, l) != holder {
			l.Counters.Add("leases that moved", 1)
		}
		st.end(t)
	}
}

// leaseHolder returns the relay that may publish.
func leaseHolder(t testing.TB, l *clients.Load) (holder string) {
	t.Helper()
	l.ReadValue(t, &holder, `SELECT holder FROM relay_lease`)
	return holder
}
