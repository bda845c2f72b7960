package cards_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
)

// While the service waits for the provider it holds nothing: more calls are open than
// the jobs have connections, no transaction is older than the calls, and no row is
// locked.
func TestCardPayment_HoldsNothingWhileProviderIsCalled(t *testing.T) {
	t.Parallel()
	const calls = 8 // a process calls so many at once, with four connections
	c := startCardShop(t, e2e.Stock{"tea": 100})
	allOpen, release := c.provider.holdCalls(t, calls)
	var payments []e2e.Payment
	for range calls {
		o := c.MustCreateOrder(t, e2e.Alice, "tea", 2)
		payments = append(payments, c.MustPayByCard(t, o.ID, "pm_card_visa"))
	}
	c.Run(t)
	e2e.Receive(t, allOpen, "all calls are open")

	c.wantNoOldTransaction(t)
	c.wantNoRowLocked(t)
	c.checkOthersProceed(t, payments)

	release()
	for _, p := range payments {
		if got := awaitSettled(t, c.Service, p).Status; got != "captured" {
			t.Errorf("payment %d is %s, want captured", p.ID, got)
		}
	}
	c.wantSameMoney(t)
}

// provider is the card provider of a shop.
type provider struct{ *e2e.CardProvider }

// holdCalls holds calls of the provider back until they are released. allOpen is closed
// when n of them are open.
func (p *provider) holdCalls(t testing.TB, n int64) (allOpen <-chan struct{}, release func()) {
	t.Helper()
	allOpen, areOpen := e2e.NewSignal()
	released, release := e2e.NewSignal()
	var open atomic.Int64
	p.SetHook(func(w http.ResponseWriter, r *http.Request, stub http.Handler) {
		defer open.Add(-1)
		if open.Add(1) == n {
			areOpen()
		}
		waitFor(t, released)
		stub.ServeHTTP(w, r)
	})
	return allOpen, release
}

// wantNoOldTransaction checks that every transaction from before now ends, and that no
// advisory lock is held.
func (c cardShop) wantNoOldTransaction(t *testing.T) {
	t.Helper()
	var now time.Time
	if err := c.DB.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&now); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, "no transaction is older than the calls", func() bool {
		return c.Count(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND xact_start <= $1`, now) == 0
	})
	if n := c.Count(t, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
		WHERE d.datname = current_database() AND locktype = 'advisory'`); n != 0 {
		t.Errorf("%d advisory locks are held", n)
	}
}

// wantNoRowLocked locks every row that a payment changes, without waiting.
func (c cardShop) wantNoRowLocked(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	err := pgx.BeginFunc(ctx, c.DB, func(tx pgx.Tx) error {
		for _, table := range []string{"orders", "order_item", "payment", "product"} {
			if _, err := tx.Exec(ctx, "SELECT FROM "+table+" FOR UPDATE NOWAIT"); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("a row is locked: %v", err)
	}
}

// checkOthersProceed uses the same product and the same orders while the provider is
// called.
func (c cardShop) checkOthersProceed(t *testing.T, processing []e2e.Payment) {
	t.Helper()
	other := c.MustCreatePaidOrder(t, e2e.Alice, "tea", 3)
	e2e.Want[e2e.Order](t, c.Service, http.StatusOK, c.CancelCall(c.CustomerToken(t), other.ID))
	c.MustCreateOrder(t, e2e.Alice, "tea", 1)
	first := processing[0]
	c.SendWebhook(t, fmt.Sprintf(`{"id": "evt_1", "type": "payment_intent.processing",
		"data": {"object": {"id": "pi_1", "amount": 20000, "currency": "rub", "metadata": {"orders_payment": %q, "order_id": "%d"}}}}`,
		c.PaymentKey(t, first.ID), first.OrderID))
	for _, p := range processing {
		c.WantOrderStatus(t, p.OrderID, "payment_processing")
	}
	c.WantProblem(t, http.StatusConflict, "invalid_order_state", c.CancelCall(c.CustomerToken(t), first.OrderID))
}

// waitFor blocks a hook until the test continues it, or ends.
func waitFor(t testing.TB, release <-chan struct{}) {
	t.Helper()
	select {
	case <-release:
	case <-t.Context().Done():
	}
}

// sendWebhooks sends webhooks to a service until the test ends.
func (p *provider) sendWebhooks(t testing.TB, to *e2e.Service) {
	t.Helper()
	p.SendTo(to.URL + "/webhooks/stripe")
	natstest.Run(t, p.SendWebhooks)
}

// chargesByPayment returns what the provider captured, by the key of our payment.
func (p *provider) chargesByPayment(t testing.TB) map[string]fakestripe.Charge {
	t.Helper()
	charges, err := p.Charges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return charges
}

// intents returns the amounts that the provider captured, in order.
func (p *provider) intents(t testing.TB) []int {
	t.Helper()
	return p.amounts(t, `SELECT amount FROM fakestripe.intent WHERE status = 'succeeded' ORDER BY number`)
}

// refunds returns the amounts that the provider refunded, in order.
func (p *provider) refunds(t testing.TB) []int {
	t.Helper()
	return p.amounts(t, `SELECT amount FROM fakestripe.refund WHERE status = 'succeeded' ORDER BY number`)
}

func (p *provider) amounts(t testing.TB, query string) []int {
	t.Helper()
	rows, _ := p.DB.Query(t.Context(), query)
	amounts, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return amounts
}

// refuseCalls answers further calls with 503 until release is called.
func (p *provider) refuseCalls() (release func()) {
	p.SetHook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	return func() { p.SetHook(nil) }
}
