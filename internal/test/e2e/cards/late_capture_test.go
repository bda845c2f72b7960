package cards_test

import (
	"testing"

	"example.com/orders/internal/test/e2e"
)

// The service learns of the capture by reconciliation, and also by a webhook.
func TestCardPayment_CapturedAfterItFailedIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o := c.MustCreateOrder(t, e2e.Alice, "tea", 2)
	failed := awaitSettled(t, c.Service, c.MustPayByCard(t, o.ID, "pm_card_declined"))
	c.provider.Capture(t, failed, c.PaymentKey(t, failed.ID), 20000, c.NewKey())

	c.reconcile(t)
	c.provider.SendTo(c.URL + "/webhooks/stripe")
	if err := c.provider.Deliver(t.Context()); err != nil {
		t.Error(err)
	}

	e2e.Eventually(t, "the money is given back", func() bool {
		return c.Count(t, `SELECT count(*) FROM refund WHERE status = 'succeeded'`) == 1
	})
	if refunds := c.provider.refunds(t); len(refunds) != 1 || refunds[0] != 20000 {
		t.Errorf("the provider refunded %v, want 20000 once", refunds)
	}
	c.WantOrderStatus(t, o.ID, "pending_payment")
	if p := c.ReadPayments(t, o.ID)[0]; p.Status != "failed" || p.Refunded.Amount != "200.00" {
		t.Errorf("the payment is %s and %s refunded, want failed and 200.00", p.Status, p.Refunded.Amount)
	}
	if n := c.Count(t, `SELECT count(*) FROM outbox WHERE type = 'payment.captured_late'`); n != 1 {
		t.Errorf("%d events for operators, want 1", n)
	}
	paid := awaitSettled(t, c.Service, c.MustPayByCard(t, o.ID, "pm_card_visa"))
	if found := c.reconcile(t); paid.Status != "captured" || len(found) > 0 {
		t.Errorf("another payment is %s, want captured; mismatches: %v", paid.Status, found)
	}
}
