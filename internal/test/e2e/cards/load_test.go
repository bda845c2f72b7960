package cards_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
)

// cardLoad is clients that pay orders by card and retry each request until it is
// answered.
type cardLoad struct {
	cardShop
	to       atomic.Pointer[e2e.Service]
	mu       sync.Mutex
	accepted []e2e.Payment
	retries  atomic.Int64
}

// pay pays one order with each card token, by four clients at a time. wait waits for
// the responses.
func (l *cardLoad) pay(t testing.TB, cardTokens []string) (wait func()) {
	t.Helper()
	calls := make(chan e2e.Call, len(cardTokens))
	for _, token := range cardTokens {
		calls <- l.CardCall(t, l.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, token)
	}
	close(calls)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for call := range calls {
				l.retryUntilAccepted(t, call)
			}
		})
	}
	return clients.Wait
}

// retryUntilAccepted sends a call until it is accepted, whichever process is killed
// meanwhile.
func (l *cardLoad) retryUntilAccepted(t testing.TB, c e2e.Call) {
	t.Helper()
	for deadline := time.Now().Add(e2e.Patience); ; {
		r, err := l.to.Load().Try(t.Context(), t, c)
		if err == nil && r.Status == http.StatusOK {
			l.record(t, r)
			return
		}
		if err == nil && r.Status != http.StatusServiceUnavailable && r.Code() != "idempotency_in_progress" || time.Now().After(deadline) {
			t.Errorf("%s: %d %s, %v", c.Path, r.Status, r.Body, err)
			return
		}
		l.retries.Add(1)
		time.Sleep(25 * time.Millisecond) // as clients do between attempts
	}
}

func (l *cardLoad) record(t testing.TB, r e2e.Reply) {
	t.Helper()
	var p e2e.Payment
	if err := json.Unmarshal(r.Body, &p); err != nil {
		t.Error(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted = append(l.accepted, p)
}

// awaitAllSettled waits until all payments are settled, checks how many are captured,
// and returns those.
func (l *cardLoad) awaitAllSettled(t testing.TB, cardTokens []string) (captured []e2e.Payment) {
	t.Helper()
	if len(l.accepted) != len(cardTokens) {
		t.Errorf("%d payments were accepted, want %d", len(l.accepted), len(cardTokens))
	}
	for _, p := range l.accepted {
		if p = awaitSettled(t, l.Service, p); p.Status == "captured" {
			captured = append(captured, p)
		}
	}
	want := len(cardTokens)
	for _, token := range cardTokens {
		if refusedTokens[token] != nil {
			want--
		}
	}
	if charges := len(l.provider.chargesByPayment(t)); len(captured) != want || charges != want {
		t.Errorf("%d of %d payments are captured, the provider charged %d; want %d", len(captured), len(cardTokens), charges, want)
	}
	return captured
}

func TestCardPayments_SurviveKillsUnderLoad(t *testing.T) {
	t.Parallel()
	const payments, kills = 60, 3
	binary := e2e.BuildOrders(t)
	c := startCardShop(t, e2e.Stock{"tea": payments})
	var cardTokens []string
	for i := range payments {
		cardTokens = append(cardTokens, fakestripe.Tokens()[i%len(fakestripe.Tokens())])
	}
	l := &cardLoad{cardShop: c}
	process := c.startCardProcess(t, binary)
	l.to.Store(c.ServiceOf(process))
	wait := l.pay(t, cardTokens)
	for kill := range kills {
		e2e.Receive(t, c.provider.fifthCallDone(), fmt.Sprintf("the provider has worked before kill %d", kill+1))
		process = c.takeOver(t, binary, process)
		l.to.Store(c.ServiceOf(process))
	}
	wait()
	captured := l.awaitAllSettled(t, cardTokens)
	c.wantReconciled(t)
	t.Logf("%d payments captured, %d retries", len(captured), l.retries.Load())
}

// fifthCallDone returns a channel that is closed when the provider has done what the
// fifth call from now asks for, and before the caller knows.
func (p *provider) fifthCallDone() <-chan struct{} {
	done := make(chan struct{})
	var calls atomic.Int64
	p.SetHook(func(w http.ResponseWriter, r *http.Request, stub http.Handler) {
		defer func() {
			if calls.Add(1) == 5 {
				close(done)
			}
		}()
		stub.ServeHTTP(w, r)
	})
	return done
}

// mixed is the number of payments of the random mix. `make test-cards` makes a thousand.
var mixed = flag.Int("payments", 60, "the number of payments of the random mix")

func TestCardPayments_AreReconciledAfterRandomMix(t *testing.T) {
	t.Parallel()
	payments := *mixed
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	c := startCardShop(t, e2e.Stock{"tea": payments})
	c.Run(t)
	c.provider.sendWebhooks(t, c.Service)
	var cardTokens []string
	for range payments {
		cardTokens = append(cardTokens, fakestripe.Tokens()[random.IntN(len(fakestripe.Tokens()))])
	}
	l := &cardLoad{cardShop: c}
	l.to.Store(c.Service)
	l.pay(t, cardTokens)()
	refunds := 0
	for _, p := range l.awaitAllSettled(t, cardTokens) {
		refunds += c.refundAtRandom(t, random, p)
	}
	e2e.Eventually(t, "all refunds are settled", func() bool { return c.Count(t, `SELECT count(*) FROM refund WHERE status = 'pending'`) == 0 })
	c.wantReconciled(t)
	t.Logf("%d refunds", refunds)
}

// refundAtRandom refunds nothing, parts or all of a payment, and returns the number of
// refunds. It never asks for a full refund that will fail, because that is a mismatch.
func (c cardShop) refundAtRandom(t testing.TB, random *rand.Rand, p e2e.Payment) int {
	t.Helper()
	refund := func(amount string) {
		e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), p.OrderID, amount))
	}
	fails := c.Count(t, `SELECT count(*) FROM payment WHERE id = $1 AND card_token = 'pm_refund_fail'`, p.ID) == 1
	part := fmt.Sprintf("%d.%02d", 1+random.IntN(40), random.IntN(100))
	switch choice := random.IntN(4); {
	case choice == 0:
		return 0
	case choice == 1 || fails:
		refund(part)
		return 1
	case choice == 2:
		refund(part)
		refund("")
		return 2
	default:
		e2e.Want[e2e.Order](t, c.Service, http.StatusOK, c.CancelCall(c.CustomerToken(t), p.OrderID))
		return 1
	}
}
