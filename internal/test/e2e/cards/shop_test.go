package cards_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/stripe"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/reconcile"
	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/invariants"
	pgtest "example.com/orders/internal/test/pg"
)

// cardShop is a shop that accepts cards.
type cardShop struct {
	*e2e.Service
	provider *provider
}

// startCardShop starts a shop and its card provider. No job runs and no webhook is sent
// yet.
func startCardShop(t testing.TB, stock e2e.Stock) cardShop {
	t.Helper()
	p := &provider{e2e.StartCardProvider(t, pgtest.New(t))}
	// Alice has more unpaid orders at once than customers may have by default.
	s := e2e.Start(t, append(e2e.CardSettings(p.URL), "ORDERS_UNPAID_ORDERS=0")...)
	s.StockUp(t, stock)
	return cardShop{s, p}
}

// awaitSettled waits until a payment is not processing any more, and reads it.
func awaitSettled(t testing.TB, s *e2e.Service, p e2e.Payment) e2e.Payment {
	t.Helper()
	e2e.Eventually(t, fmt.Sprintf("payment %d is settled", p.ID), func() bool {
		return s.Count(t, `SELECT count(*) FROM payment WHERE id = $1 AND status <> 'processing'`, p.ID) == 1
	})
	payments := s.ReadPayments(t, p.OrderID)
	i := slices.IndexFunc(payments, func(found e2e.Payment) bool { return found.ID == p.ID })
	if i < 0 {
		t.Fatalf("payment %d is not among those of its order: %+v", p.ID, payments)
	}
	return payments[i]
}

// mustBuyByCard creates an order and pays it with a card that captures in the end.
func mustBuyByCard(t testing.TB, s *e2e.Service, sku string, quantity int, cardToken string) (e2e.Order, e2e.Payment) {
	t.Helper()
	o := s.MustCreateOrder(t, e2e.Alice, sku, quantity)
	p := awaitSettled(t, s, s.MustPayByCard(t, o.ID, cardToken))
	if p.Status != "captured" {
		t.Fatalf("%s: the payment is %s, want captured", cardToken, p.Status)
	}
	return s.ReadOrder(t, o.ID), p
}

// awaitRefundSettled waits until a refund is not pending any more, and returns its
// status.
func awaitRefundSettled(t testing.TB, s *e2e.Service, r e2e.Refund) string {
	t.Helper()
	e2e.Eventually(t, fmt.Sprintf("refund %d is settled", r.ID), func() bool {
		return s.Count(t, `SELECT count(*) FROM refund WHERE id = $1 AND status <> 'pending'`, r.ID) == 1
	})
	var status string
	if err := s.DB.QueryRow(t.Context(), `SELECT status FROM refund WHERE id = $1`, r.ID).Scan(&status); err != nil {
		t.Fatal(err)
	}
	return status
}

// charge returns what the provider captured for a payment, and whether it captured
// anything.
func (c cardShop) charge(t testing.TB, p e2e.Payment) (fakestripe.Charge, bool) {
	t.Helper()
	charge, captured := c.provider.chargesByPayment(t)[c.PaymentKey(t, p.ID)]
	return charge, captured
}

// wantSameMoney compares our captured payments and refunds with the provider's own
// tables, by reference, amount and currency.
func (c cardShop) wantSameMoney(t testing.TB) {
	t.Helper()
	ours, err := invariants.CapturedByCard(t.Context(), c.DB)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.provider.chargesByPayment(t), ours); diff != "" {
		t.Errorf("captured payments (-the provider's +ours):\n%s", diff)
	}
	theirRefunds := refundsByID(t, c.provider.DB, `SELECT id, amount FROM fakestripe.refund WHERE status = 'succeeded' ORDER BY id`)
	ourRefunds := refundsByID(t, c.DB, `
		SELECT coalesce(r.external_refund_id, ''), (r.amount * 100)::bigint
		FROM refund r JOIN payment p ON p.id = r.payment_id
		WHERE p.method = 'card' AND r.status = 'succeeded' ORDER BY 1`)
	if diff := cmp.Diff(theirRefunds, ourRefunds); diff != "" {
		t.Errorf("refunds (-the provider's +ours):\n%s", diff)
	}
}

// refundsByID returns the amounts of refunds by their ID at the provider.
func refundsByID(t testing.TB, db *pgxpool.Pool, query string) map[string]int64 {
	t.Helper()
	type refund struct {
		ID     string
		Amount int64
	}
	rows, _ := db.Query(t.Context(), query)
	refunds, err := pgx.CollectRows(rows, pgx.RowToStructByPos[refund])
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]int64{}
	for _, r := range refunds {
		byID[r.ID] += r.Amount
	}
	return byID
}

// reconcile returns the mismatches that reconciliation finds in an hour, when nothing
// is recent any more.
func (c cardShop) reconcile(t testing.TB) []payment.Mismatch {
	t.Helper()
	var found []payment.Mismatch
	store := c.OpenStore(t)
	reconciliation := &reconcile.Service{
		Store:    store,
		Progress: &ownPass{},
		Report:   func(m payment.Mismatch) { found = append(found, m) },
		Payments: &payment.Service{Store: store.Payments()},
		Gateway:  stripe.New(stripe.Config{Key: e2e.StripeKey, URL: c.provider.URL, Timeout: 4 * time.Second}),
		Now:      func() time.Time { return time.Now().Add(time.Hour) },
	}
	for more := 1; more > 0; {
		var err error
		if more, err = reconciliation.Step(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// ownPass is the pass of a test, which it does not share with the job of the service.
type ownPass struct{ reconcile.Pass }

func (p *ownPass) LoadPass(context.Context) (reconcile.Pass, error) { return p.Pass, nil }

func (p *ownPass) SavePass(_ context.Context, pass reconcile.Pass) (bool, error) {
	p.Pass = pass
	return true, nil
}

// wantReconciled checks that our payments and the provider's are the same, and that
// reconciliation finds no mismatch.
func (c cardShop) wantReconciled(t testing.TB) {
	t.Helper()
	c.wantSameMoney(t)
	if mismatches := c.reconcile(t); len(mismatches) > 0 {
		t.Errorf("reconciliation mismatches: %v", mismatches)
	}
}
