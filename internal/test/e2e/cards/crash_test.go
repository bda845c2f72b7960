package cards_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// startCardProcess starts a process that works on the jobs of the shop.
func (c cardShop) startCardProcess(t testing.TB, binary string) *e2e.Process {
	t.Helper()
	return c.StartProcess(t, binary, e2e.CardSettings(c.provider.URL)...)
}

// takeOver kills a process and starts another one. River would wait minutes before it
// moves running jobs to another process, and seconds before it elects another leader;
// here the new process gets both at once.
func (c cardShop) takeOver(t testing.TB, binary string, killed *e2e.Process) *e2e.Process {
	t.Helper()
	killed.Kill()
	e2e.Eventually(t, "the database has ended the statements of the killed process", func() bool {
		return c.Count(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'orders' AND state <> 'idle'`) == 0
	})
	c.Exec(t, `UPDATE river.river_job SET state = 'available' WHERE state = 'running'`)
	c.Exec(t, `DELETE FROM river.river_leader`)
	return c.startCardProcess(t, binary)
}

// settlement is a payment or refund that a job settles with the provider.
type settlement struct {
	jobKind string
	orderID int
	// await waits until it is settled, and returns its status.
	await func() string
}

// crashPoint is where the process that settles is killed. It returns a function that
// waits until the job is there, and one that continues everything else when the process
// is dead.
type crashPoint func(t testing.TB, c cardShop, s settlement) (reached, release func())

var crashPoints = map[string]crashPoint{
	"before the order is read":  beforeRead,
	"before the call":           beforeCall,
	"after the provider's work": afterProvidersWork,
	"after our write":           afterWrite,
}

// beforeRead: the job has begun, and waits for the lock of its order.
func beforeRead(t testing.TB, c cardShop, s settlement) (reached, release func()) {
	t.Helper()
	l := c.LockRows(t, `SELECT FROM orders WHERE id = $1 FOR UPDATE`, s.orderID)
	return func() { l.AwaitWaiter(t) }, l.Release
}

// beforeCall: the provider has not received the call.
func beforeCall(t testing.TB, c cardShop, _ settlement) (reached, release func()) {
	t.Helper()
	return c.provider.breakCalls(t, func(*http.Request, http.Handler) {})
}

// afterProvidersWork: the provider has done what it was asked, and the service does not
// know.
func afterProvidersWork(t testing.TB, c cardShop, _ settlement) (reached, release func()) {
	t.Helper()
	return c.provider.breakCalls(t, func(r *http.Request, stub http.Handler) { stub.ServeHTTP(httptest.NewRecorder(), r) })
}

// breakCalls lets the provider do some work for a call, and never answers. A slow
// process may call more than once.
func (p *provider) breakCalls(t testing.TB, work func(*http.Request, http.Handler)) (reached, release func()) {
	t.Helper()
	called, isCalled := e2e.NewSignal()
	released, releaseCalls := e2e.NewSignal()
	p.SetHook(func(_ http.ResponseWriter, r *http.Request, stub http.Handler) {
		work(r, stub)
		isCalled()
		waitFor(t, released)
		panic(http.ErrAbortHandler)
	})
	return func() { e2e.Receive(t, called, "the provider is called") }, func() {
		p.SetHook(nil)
		releaseCalls()
	}
}

// afterWrite: the outcome is written, and the job is not marked as done.
func afterWrite(t testing.TB, c cardShop, s settlement) (reached, release func()) {
	t.Helper()
	var job e2e.RowLock
	called, isCalled := e2e.NewSignal()
	locked, isLocked := e2e.NewSignal()
	c.provider.SetHook(func(w http.ResponseWriter, r *http.Request, stub http.Handler) {
		isCalled()
		waitFor(t, locked)
		stub.ServeHTTP(w, r)
	})
	reached = func() {
		e2e.Receive(t, called, "the provider is called")
		job = c.LockRows(t, `SELECT FROM river.river_job WHERE kind = $1 FOR UPDATE`, s.jobKind)
		isLocked()
		s.await()
		job.AwaitWaiter(t)
	}
	return reached, func() {
		job.KillWaiters(t) // PostgreSQL would finish the statement of a client that is gone
		job.Release()
		c.provider.SetHook(nil)
	}
}

// checkCrash kills the process that settles at a crash point, and lets another one
// finish.
func (c cardShop) checkCrash(
	t *testing.T, at crashPoint, s settlement, binary string, start func() *e2e.Process, wantStatus string,
) {
	t.Helper()
	reached, release := at(t, c, s)
	process := start()
	reached()
	process.Kill()
	release()
	if n := c.Count(t, `SELECT count(*) FROM river.river_job WHERE kind = $1 AND state = 'running'`, s.jobKind); n != 1 {
		t.Fatalf("%d jobs were left running, want 1", n)
	}

	c.takeOver(t, binary, process)

	if got := s.await(); got != wantStatus {
		t.Errorf("the status is %s, want %s", got, wantStatus)
	}
	e2e.Eventually(t, "the job is done", func() bool {
		return c.Count(t, `SELECT count(*) FROM river.river_job WHERE kind = $1 AND state = 'completed'`, s.jobKind) == 1
	})
	c.wantSameMoney(t)
}

func TestCardPayment_IsChargedOnceWhenProcessIsKilled(t *testing.T) {
	t.Parallel()
	binary := e2e.BuildOrders(t)
	for name, at := range crashPoints {
		for cardToken, status := range map[string]string{"pm_card_visa": "captured", "pm_card_declined": "failed"} {
			t.Run(name+" with "+cardToken, func(t *testing.T) {
				t.Parallel()
				c := startCardShop(t, e2e.Stock{"tea": 5})
				o := c.MustCreateOrder(t, e2e.Alice, "tea", 2)
				p := c.MustPayByCard(t, o.ID, cardToken)
				s := settlement{"settle_payment", o.ID, func() string { return awaitSettled(t, c.Service, p).Status }}
				start := func() *e2e.Process { return c.startCardProcess(t, binary) }
				c.checkCrash(t, at, s, binary, start, status)
			})
		}
	}
}

func TestCardRefund_IsMadeOnceWhenProcessIsKilled(t *testing.T) {
	t.Parallel()
	binary := e2e.BuildOrders(t)
	for name, at := range crashPoints {
		for cardToken, status := range map[string]string{"pm_card_visa": "succeeded", "pm_refund_fail": "failed"} {
			t.Run(name+" with "+cardToken, func(t *testing.T) {
				t.Parallel()
				c := startCardShop(t, e2e.Stock{"tea": 5})
				payer := c.startCardProcess(t, binary)
				o, _ := mustBuyByCard(t, c.Service, "tea", 2, cardToken)
				payer.Kill()
				r := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, "50.00"))
				s := settlement{"settle_refund", o.ID, func() string { return awaitRefundSettled(t, c.Service, r) }}
				start := func() *e2e.Process { return c.takeOver(t, binary, payer) }
				c.checkCrash(t, at, s, binary, start, status)
			})
		}
	}
}
