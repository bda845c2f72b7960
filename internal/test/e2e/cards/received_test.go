package cards_test

import (
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/test/e2e"
)

// The provider reports a success that moved one kopeck. No way of learning about it
// captures the payment.
func TestCardPayment_IsNotCapturedWhenLessIsReceived(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 5})
	c.Run(t)
	p := c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_late")
	c.awaitFailedAttempt(t, p) // the provider has not decided
	c.changeAtProvider(t, p, `UPDATE fakestripe.intent SET received = 1 WHERE metadata->>'orders_payment' = $1`)

	if err := c.provider.DecideLate(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.provider.SendTo(c.URL + "/webhooks/stripe")
	if err := c.provider.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}

	c.WantOrderStatus(t, p.OrderID, "payment_processing")
	e2e.Eventually(t, "the job has read what was received", func() bool {
		return c.Count(t, `SELECT count(*) FROM river.river_job
			WHERE array_to_string(errors, ' ') LIKE '%0.01 RUB received by the provider%' AND `+jobOf, "settle_payment", p.ID) == 1
	})
	c.WantOrderStatus(t, p.OrderID, "payment_processing")
	// As if it had been believed, until the invariants are checked.
	c.Exec(t, `UPDATE payment SET status = 'captured' WHERE id = $1`, p.ID)
	found := c.reconcile(t)
	c.Exec(t, `UPDATE payment SET status = 'processing' WHERE id = $1`, p.ID)
	if !slices.ContainsFunc(found, func(m payment.Mismatch) bool { return strings.Contains(m.Detail, "0.01 RUB received by the provider") }) {
		t.Errorf("reconciliation found %v, and nothing about the amount that was received", found)
	}
}
