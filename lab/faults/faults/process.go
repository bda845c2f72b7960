package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// replicaFaults are replicas that end.
var replicaFaults = []Fault{
	{
		Name: "killed-replica", Number: "F1", Short: true,
		Strike: killAtEachCrashPoint,
		Proof: []string{
			"kills in a transaction", "kills before the provider worked", "kills after the provider worked",
			"kills between publish and mark", "requests without a response",
		},
	},
	{
		Name: "sigterm", Number: "F17", Short: true, Strikes: 2,
		Strike: terminate,
		Proof:  []string{"requests in flight at SIGTERM", "processes that ended with status 0"},
	},
}

// killAtEachCrashPoint kills replicas at all crash points, in random order.
func killAtEachCrashPoint(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	points := []func(testing.TB, *clients.Load, *rand.Rand){
		killInTransaction, killBeforeProvider, killAfterProvider, killBeforeMark,
	}
	random.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	for _, kill := range points {
		kill(t, l, random)
		l.AwaitAttempts(t, clients.Pause)
	}
}

// killInTransaction kills a replica while its command holds a key and waits for a lock.
func killInTransaction(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	r := l.Draw(random)
	customer := l.NewCustomer(t, l.Other(r))
	balance := l.LockBalance(t, customer)
	call := l.CreditCall(t, customer, "1.00")
	ended := l.SendAside(t, r, call)
	balance.AwaitWaiter(t)

	r.Process.Kill()

	balance.Release()
	if got := e2e.Receive(t, ended, "the call of the killed replica ends"); got.Err == nil {
		t.Errorf("a replica was killed in a transaction and answered %d %s", got.Reply.Status, got.Reply.Body)
	}
	l.Counters.Add("kills in a transaction", 1)
	r.Start(t)
	l.WantCredited(t, l.Other(r), call)
	l.WantCredited(t, r, call)
}

func killBeforeProvider(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	killDuringCharge(t, l, random, func(*http.Request, http.Handler) {})
	l.Counters.Add("kills before the provider worked", 1)
}

func killAfterProvider(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	killDuringCharge(t, l, random, work)
	l.Counters.Add("kills after the provider worked", 1)
}

// work lets the provider process a call even if the caller is gone.
func work(r *http.Request, double http.Handler) {
	double.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
}

// killDuringCharge kills the replica that requests a charge, after the provider has
// done some work and before it answers.
func killDuringCharge(t testing.TB, l *clients.Load, random *rand.Rand, work func(*http.Request, http.Handler)) {
	t.Helper()
	front := l.Draw(random)
	o := l.NewOrder(t, front)
	callers, released := make(chan int, 2*len(l.Replicas)), make(chan struct{})
	l.Provider.SetHook(func(w http.ResponseWriter, r *http.Request, double http.Handler) {
		if !isAbout(r, o) {
			double.ServeHTTP(w, r)
			return
		}
		work(r, double)
		callers <- world.CallerOf(r)
		<-released
		panic(http.ErrAbortHandler) // breaks the connection
	})
	p := l.ServiceAt(front).MustPayByCard(t, o.ID, "pm_card_visa")
	killed := l.Replicas[e2e.Receive(t, callers, "the provider is called")]

	killed.Process.Kill()

	l.Provider.SetHook(nil)
	close(released)
	l.RescueSettlements(t)
	killed.Start(t)
	l.AwaitPayment(t, p, "captured")
	l.WantCharges(t, p, 1)
}

// isAbout reports whether a call requests a charge for an order.
func isAbout(r *http.Request, o e2e.Order) bool {
	return r.Method == http.MethodPost && r.ParseForm() == nil && r.PostForm.Get("metadata[order_id]") == fmt.Sprint(o.ID)
}

// killBeforeMark kills all replicas between publishing events and marking them.
func killBeforeMark(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	locked, ids := l.LockUnpublished(t)
	const blocked = `FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid))`
	pid := locked.Conn().PgConn().PID()
	e2e.Eventually(t, "a relay marks what it has published", func() bool { return l.Count(t, `SELECT count(*) `+blocked, pid) > 0 })
	stream := natstest.Messages(t, l.Streams, outnats.Stream)
	for _, id := range ids {
		if slices.ContainsFunc(stream, func(m []byte) bool { return strings.Contains(string(m), id) }) {
			l.Counters.Add("kills between publish and mark", 1)
		}
	}

	for _, r := range l.Replicas {
		r.Process.Kill()
	}

	// PostgreSQL would finish a disconnected client's statement.
	l.Count(t, `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) `+blocked, pid)
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Exec(t, `UPDATE relay_lease SET until = '-infinity'`) // instead of waiting for the lease to end
	l.RescueSettlements(t)
	for _, r := range l.Replicas {
		r.Start(t)
	}
	e2e.Eventually(t, "the events are marked", func() bool {
		return l.Count(t, `SELECT count(*) FROM outbox WHERE event_id = ANY($1::uuid[]) AND published_at IS NULL`, ids) == 0
	})
}

// terminate stops a replica with SIGTERM while requests are in flight.
func terminate(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	const inFlight = 3
	r := l.Draw(random)
	customer := l.NewCustomer(t, l.Other(r))
	balance := l.LockBalance(t, customer)
	var calls []e2e.Call
	var endings []<-chan world.Ending
	for range inFlight {
		call := l.CreditCall(t, customer, "1.00")
		calls = append(calls, call)
		endings = append(endings, l.SendAside(t, r, call))
	}
	balance.AwaitWaiters(t, inFlight)

	ended := r.Process.Terminate(t)

	e2e.Eventually(t, "the replica accepts no connections", func() bool { return !isListening(t, r) })
	balance.AwaitWaiters(t, inFlight)
	l.Counters.Add("requests in flight at SIGTERM", inFlight)
	balance.Release()
	for i, end := range endings {
		got := e2e.Receive(t, end, "a request in flight is answered")
		if got.Err != nil || got.Reply.Status != http.StatusCreated {
			t.Errorf("%s: an accepted request ended with %d %s, %v", calls[i].Key, got.Reply.Status, got.Reply.Body, got.Err)
		}
	}
	r.Process.WantEnd(t, ended, e2e.Patience)
	l.Counters.Add("processes that ended with status 0", 1)
	for _, call := range calls {
		l.WantCredited(t, l.Other(r), call)
	}
	r.Start(t)
}

// isListening reports whether a replica accepts connections.
func isListening(t testing.TB, r *world.Replica) bool {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.URL, "http://"))
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
