package faults

import (
	"math/rand/v2"
	"net/http"
	"syscall"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// stalledFaults are replicas that stop for a while and continue unaware.
var stalledFaults = []Fault{
	{
		Name: "stalled-replica", Number: "F18", Short: true,
		Needs:  Needs{Settings: []string{"ORDERS_IDEMPOTENCY_WAIT=1s"}},
		Strike: stallInTransaction,
		Proof: []string{
			"stalls in a transaction", "keys that a stalled replica held", "rows that a stalled replica locked",
			"commands beside a stalled replica",
		},
	},
	{
		Name: "long-stalled-replica", Number: "F18",
		Needs:  Needs{Settings: []string{"ORDERS_IDEMPOTENCY_WAIT=1s"}},
		Strike: stallEachForLong,
		Proof:  []string{"transactions of a stalled replica that ended", "leases that moved", "rows that a stalled replica locked"},
	},
}

// stall is a replica that was stopped while its transaction holds a key and a row.
type stall struct {
	*System
	stopped, other *Replica
	customer       string
	// call is the transaction's command.
	call  e2e.Call
	ended <-chan ending
	// waiting is another command on the row, at the other replica.
	waiting      e2e.Call
	waitingEnded <-chan ending
}

// startStall stops a replica between a command's statements.
func startStall(t testing.TB, s *System, stopped *Replica) *stall {
	t.Helper()
	st := &stall{System: s, stopped: stopped, other: s.other(stopped)}
	st.customer = s.newCustomer(t, st.other)
	balance := s.lockBalance(t, st.customer)
	st.call = s.CreditCall(t, st.customer, "1.00")
	st.ended = s.sendAside(t, stopped, st.call)
	balance.AwaitWaiter(t)
	stopped.process.Pause(t)
	balance.Release() // the server grants the lock to the stopped replica, which does not notice
	e2e.Eventually(t, "the stopped replica holds the row", func() bool { return st.holds(t) })
	s.Counters.Add("stalls in a transaction", 1)
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
	service := st.service(st.other)
	service.WantProblem(t, http.StatusConflict, "idempotency_in_progress", st.call)
	st.Counters.Add("keys that a stalled replica held", 1)

	st.waiting = st.CreditCall(t, st.customer, "1.00")
	st.waitingEnded = st.sendAside(t, st.other, st.waiting)
	for range 5 {
		st.newCustomer(t, st.other)
		st.Counters.Add("commands beside a stalled replica", 1)
	}
	if st.holds(t) {
		st.Counters.Add("rows that a stalled replica locked", 1)
	}
}

// end resumes the replica, and checks that each command takes effect once.
func (st *stall) end(t testing.TB) {
	t.Helper()
	st.stopped.process.Signal(t, syscall.SIGCONT)
	e2e.Receive(t, st.ended, "the stalled command ends")
	e2e.Receive(t, st.waitingEnded, "the command behind it ends")
	for _, call := range []e2e.Call{st.call, st.waiting} {
		st.wantCredited(t, st.other, call)
		st.wantCredited(t, st.stopped, call)
	}
	st.stopped.process.AwaitReady(t)
}

func stallInTransaction(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	st := startStall(t, s, s.draw(random))
	st.checkOthers(t)
	st.end(t)
}

// stallEachForLong stops one replica after the other, until the server has ended its
// transactions and the other one relays. One of the two held the relay lease.
func stallEachForLong(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	for _, i := range random.Perm(len(s.Replicas)) {
		holder := s.leaseHolder(t)
		st := startStall(t, s, s.Replicas[i])
		st.checkOthers(t)
		e2e.Eventually(t, "the server ends the transaction of the stalled replica", func() bool { return !st.holds(t) })
		s.Counters.Add("transactions of a stalled replica that ended", 1)
		got := e2e.Receive(t, st.waitingEnded, "the command behind the stalled one ends")
		t.Logf("the command that waited for a stalled replica ended with %s, %v", got.reply.Verdict(), got.err)
		st.waitingEnded = st.sendAside(t, st.other, st.waiting)
		e2e.Eventually(t, "the other replica relays", func() bool {
			return s.Count(t, `SELECT count(*) FROM outbox WHERE published_at IS NULL`) == 0
		})
		if s.leaseHolder(t) != holder {
			s.Counters.Add("leases that moved", 1)
		}
		st.end(t)
	}
}

// leaseHolder returns the relay that may publish.
func (s *System) leaseHolder(t testing.TB) (holder string) {
	t.Helper()
	if err := s.DB.QueryRow(t.Context(), `SELECT holder FROM relay_lease`).Scan(&holder); err != nil {
		t.Fatal(err)
	}
	return holder
}
