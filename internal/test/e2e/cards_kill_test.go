package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/dev/fakestripe"
)

// newCardWorld is a card shop whose jobs run in processes of their own.
func newCardWorld(t testing.TB, stock shelf) cardShop {
	t.Helper()
	c := newCardShop(t, stock)
	c.provider.setGate(hangUp)
	return c
}

// takeOver starts a process when another is dead and gone. River would give it the jobs
// that were running after two minutes, and the dead process' place as the leader, who
// sees to what is to be tried again, after some seconds: here it has both at once.
func (c cardShop) takeOver(binary string, dead *process) *process {
	c.Helper()
	dead.kill()
	eventually(c, "nothing of the dead process is left in the database", func() bool {
		return c.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND application_name = 'orders' AND state <> 'idle'`) == 0
	})
	c.exec(`UPDATE river.river_job SET state = 'available' WHERE state = 'running'`)
	c.exec(`DELETE FROM river.river_leader`)
	return c.startProcess(binary, c.provider.settings()...)
}

// hangUp ends calls that hang: the time-out of the service is longer than a test should
// take.
func hangUp(w http.ResponseWriter, r *http.Request, provider http.Handler) {
	if r.ParseForm() != nil || r.PostForm.Get("payment_method") != "pm_hang" {
		provider.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
	defer cancel()
	kept := httptest.NewRecorder()
	provider.ServeHTTP(kept, r.WithContext(ctx))
	if ctx.Err() != nil {
		panic(http.ErrAbortHandler) // which ends the connection, and logs nothing
	}
	w.WriteHeader(kept.Code)
	_, _ = w.Write(kept.Body.Bytes()) // a caller that is gone asks again
}

// asked is a question to the provider, and the job that asks it.
type asked struct {
	job     string
	orderID int
	// decided waits for the answer and gives what it came to.
	decided func() string
}

// A border is where the process that asks shall be killed. Arming it gives what waits
// until the job is there, and what lets go of the rest when the process is dead.
type border func(c cardShop, q asked) (reached, release func())

var borders = map[string]border{
	"fetched": fetched, "before the call": beforeCall, "after the provider's deed": afterDeed, "after our write": afterWrite,
}

// fetched: the job has begun, and stands before its order.
func fetched(c cardShop, q asked) (reached, release func()) {
	l := c.hold(query{`SELECT FROM orders WHERE id = $1 FOR UPDATE`, []any{q.orderID}})
	return l.awaitWaiter, l.release
}

// beforeCall: the provider has not seen the call.
func beforeCall(c cardShop, _ asked) (reached, release func()) {
	return c.stopCall(func(*http.Request, http.Handler) {})
}

// afterDeed: the provider has done what it was asked, and nobody here knows.
func afterDeed(c cardShop, _ asked) (reached, release func()) {
	return c.stopCall(func(r *http.Request, provider http.Handler) { provider.ServeHTTP(httptest.NewRecorder(), r) })
}

// stopCall lets the first call do so much, and then never answers it.
func (c cardShop) stopCall(deed func(*http.Request, http.Handler)) (reached, release func()) {
	stopped, stop := latch() // more than once: a slow process asks again
	end := make(chan struct{})
	c.provider.setGate(func(_ http.ResponseWriter, r *http.Request, provider http.Handler) {
		deed(r, provider)
		stop()
		await(c, end)
		panic(http.ErrAbortHandler)
	})
	return func() { receive(c, stopped, "the provider is asked") }, func() {
		c.provider.setGate(hangUp)
		close(end)
	}
}

// afterWrite: what the provider said is written, and that the job is done is not.
func afterWrite(c cardShop, q asked) (reached, release func()) {
	var l lock
	called, call := latch() // more than once: a slow process asks again
	locked := make(chan struct{})
	c.provider.setGate(func(w http.ResponseWriter, r *http.Request, provider http.Handler) {
		call()
		await(c, locked)
		provider.ServeHTTP(w, r)
	})
	reached = func() {
		receive(c, called, "the provider is asked")
		l = c.hold(query{`SELECT FROM river.river_job WHERE kind = $1 FOR UPDATE`, []any{q.job}})
		close(locked)
		q.decided()
		l.awaitWaiter()
	}
	return reached, func() {
		l.killWaiters() // PostgreSQL would end the statement of a client that is gone
		l.release()
		c.provider.setGate(hangUp)
	}
}

// killAt kills the process that works on a question at a border, and lets another one
// finish.
func (c cardShop) killAt(border border, q asked, start func() *process, binary, want string) {
	c.Helper()
	reached, release := border(c, q)
	first := start()
	reached()
	first.kill()
	release()
	if n := c.count(`SELECT count(*) FROM river.river_job WHERE kind = $1 AND state = 'running'`, q.job); n != 1 {
		c.Fatalf("%d jobs were left running, want 1", n)
	}
	c.takeOver(binary, first)
	if got := q.decided(); got != want {
		c.Errorf("it is %s, want %s", got, want)
	}
	eventually(c, "the job is done", func() bool {
		return c.count(`SELECT count(*) FROM river.river_job WHERE kind = $1 AND state = 'completed'`, q.job) == 1
	})
	c.sameBooks()
}

func TestAPaymentWhoseProcessIsKilledIsChargedOnce(t *testing.T) {
	t.Parallel()
	binary := buildOrders(t)
	for name, border := range borders {
		for token, status := range map[string]string{"pm_card_visa": "captured", "pm_card_declined": "failed"} {
			t.Run(name+" with "+token, func(t *testing.T) {
				t.Parallel()
				c := newCardWorld(t, shelf{"tea": 5})
				p := c.payByCard(c.order(alice, "tea", 2).ID, token)
				q := asked{"settle_payment", p.OrderID, func() string { return c.decided(p).Status }}
				c.killAt(border, q, func() *process { return c.startProcess(binary, c.provider.settings()...) }, binary, status)
			})
		}
	}
}

func TestARefundWhoseProcessIsKilledIsMadeOnce(t *testing.T) {
	t.Parallel()
	binary := buildOrders(t)
	for name, border := range borders {
		for token, status := range map[string]string{"pm_card_visa": "succeeded", "pm_refund_fail": "failed"} {
			t.Run(name+" with "+token, func(t *testing.T) {
				t.Parallel()
				c := newCardWorld(t, shelf{"tea": 5})
				payer := c.startProcess(binary, c.provider.settings()...)
				o, _ := c.boughtByCard("tea", 2, token)
				payer.kill()
				r := want[refundBody](c.service, http.StatusOK, c.refundCall(c.asAdmin(), o.ID, "50.00"))
				q := asked{"settle_refund", o.ID, func() string { return c.refundDecided(r) }}
				c.killAt(border, q, func() *process { return c.takeOver(binary, payer) }, binary, status)
			})
		}
	}
}

// cardLoad pays orders by card and repeats each request until it is answered.
type cardLoad struct {
	cardShop
	to      atomic.Pointer[service]
	mu      sync.Mutex
	asked   []cardPayment
	repeats atomic.Int64
}

// confirm pays an order, whoever is killed meanwhile.
func (l *cardLoad) confirm(orderID int, token, key string) {
	for deadline := time.Now().Add(patience); ; {
		to := l.to.Load()
		r, err := to.try(l.Context(), to.cardCall(orderID, token, key))
		if err == nil && r.status == http.StatusOK {
			l.note(r)
			return
		}
		if err == nil && r.status != http.StatusServiceUnavailable && r.code() != "idempotency_in_progress" || time.Now().After(deadline) {
			l.Errorf("order %d: %d %s, %v", orderID, r.status, r.body, err)
			return
		}
		l.repeats.Add(1)
		time.Sleep(25 * time.Millisecond) // as clients do between tries
	}
}

// note keeps a payment that was answered.
func (l *cardLoad) note(r reply) {
	var p cardPayment
	if err := json.Unmarshal(r.body, &p); err != nil {
		l.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, p)
}

// pay lets clients pay orders with the tokens, each with one, and waits for the answers.
func (l *cardLoad) pay(tokens []string) (wait func()) {
	next := make(chan func(), len(tokens))
	for _, token := range tokens {
		orderID, key := l.order(alice, "tea", 1).ID, l.newKey()
		next <- func() { l.confirm(orderID, token, key) }
	}
	close(next)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for confirm := range next {
				confirm()
			}
		})
	}
	return clients.Wait
}

// end waits until all payments are decided and checks them against their tokens.
func (l *cardLoad) end(tokens []string) (captured []cardPayment) {
	l.Helper()
	if len(l.asked) != len(tokens) {
		l.Errorf("%d payments were taken, want %d", len(l.asked), len(tokens))
	}
	for _, p := range l.asked {
		if p = l.decided(p); p.Status == "captured" {
			captured = append(captured, p)
		}
	}
	refused := 0
	for _, token := range tokens {
		if refusals[token] != nil {
			refused++
		}
	}
	if len(captured) != len(tokens)-refused || len(l.theirCharges()) != len(captured) {
		l.Errorf("%d of %d payments are captured, the provider has charged for %d; want %d", len(captured), len(tokens), len(l.theirCharges()), len(tokens)-refused)
	}
	return captured
}

func TestCardPaymentsSurviveKills(t *testing.T) {
	t.Parallel()
	const payments = 60
	binary := buildOrders(t)
	c := newCardWorld(t, shelf{"tea": payments})
	var tokens []string
	for i := range payments {
		tokens = append(tokens, fakestripe.Tokens()[i%len(fakestripe.Tokens())])
	}
	l := &cardLoad{cardShop: c}
	alive := c.startProcess(binary, c.provider.settings()...)
	l.to.Store(c.at(alive))
	wait := l.pay(tokens)
	for kill := range 3 {
		receive(t, c.awaitCalls(), fmt.Sprintf("the provider is asked before kill %d", kill+1))
		alive = c.takeOver(binary, alive)
		l.to.Store(c.at(alive))
	}
	wait()
	captured := l.end(tokens)
	c.sameBooks()
	if found := c.reconciled(); len(found) > 0 {
		t.Errorf("the books differ: %v", found)
	}
	t.Logf("%d payments captured, %d requests repeated", len(captured), l.repeats.Load())
}

// awaitCalls tells when the provider has done what the fifth call from now asks for, and
// before anybody has heard of it.
func (c cardShop) awaitCalls() <-chan struct{} {
	done := make(chan struct{})
	var calls atomic.Int64
	c.provider.setGate(func(w http.ResponseWriter, r *http.Request, provider http.Handler) {
		defer func() {
			if calls.Add(1) == 5 {
				close(done)
			}
		}()
		hangUp(w, r, provider)
	})
	return done
}

func TestARandomMixOfCardPaymentsLeavesBooksEqual(t *testing.T) {
	t.Parallel()
	const payments = 1000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := newCardWorld(t, shelf{"tea": payments})
	c.work()
	c.provider.sendWebhooks(c.service)
	var tokens []string
	for range payments {
		tokens = append(tokens, fakestripe.Tokens()[random.IntN(len(fakestripe.Tokens()))])
	}
	l := &cardLoad{cardShop: c}
	l.to.Store(c.service)
	l.pay(tokens)()
	refunds := 0
	for _, p := range l.end(tokens) {
		refunds += c.refundSome(random, p)
	}
	eventually(t, "all refunds are decided", func() bool { return c.count(`SELECT count(*) FROM refund WHERE status = 'pending'`) == 0 })
	c.sameBooks()
	if found := c.reconciled(); len(found) > 0 {
		t.Errorf("the books differ: %v", found)
	}
	t.Logf("%d refunds", refunds)
}

// refundSome gives nothing, parts or all of a payment back, and says how many times. Of
// a refund that will fail a person takes care, so that is a part.
func (c cardShop) refundSome(random *rand.Rand, p cardPayment) int {
	c.Helper()
	fails := c.count(`SELECT count(*) FROM payment WHERE id = $1 AND card_token = 'pm_refund_fail'`, p.ID) == 1
	part := fmt.Sprintf("%d.%02d", 1+random.IntN(40), random.IntN(100))
	switch choice := random.IntN(4); {
	case choice == 0:
		return 0
	case choice == 1 || fails:
		want[refundBody](c.service, http.StatusOK, c.refundCall(c.asAdmin(), p.OrderID, part))
		return 1
	case choice == 2:
		want[refundBody](c.service, http.StatusOK, c.refundCall(c.asAdmin(), p.OrderID, part))
		want[refundBody](c.service, http.StatusOK, c.refundCall(c.asAdmin(), p.OrderID, ""))
		return 2
	default:
		want[orderBody](c.service, http.StatusOK, c.cancelCall(c.asCustomer(), p.OrderID))
		return 1
	}
}
