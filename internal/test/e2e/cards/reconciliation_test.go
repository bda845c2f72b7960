package cards_test

import (
	"testing"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
)

// No webhook arrives. Reconciliation finds a refund of the dashboard, a new dispute, and
// what became of one that it knows.
func TestReconciliation_AdoptsWhatNoEventReported(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	refunded, p := mustBuyByCard(t, c.Service, "tea", 1, "pm_card_visa")
	_, lostLater := mustBuyByCard(t, c.Service, "tea", 1, "pm_card_visa")
	_, both := mustBuyByCard(t, c.Service, "tea", 1, "pm_card_visa")
	c.refundInDashboard(t, p, 10000)
	id := c.dispute(t, lostLater, 10000, fakestripe.Inquiry)
	c.dispute(t, both, 2500, fakestripe.NeedsResponse)
	c.dispute(t, both, 2500, fakestripe.NeedsResponse)
	c.deliver(t, lost)
	if found := c.reconcile(t); len(found) > 0 {
		t.Errorf("after it has adopted everything, reconciliation finds %v", found)
	}
	c.wantReconciled(t)
	c.WantOrderStatus(t, refunded.ID, "cancelled")
	if _, err := c.provider.DB.Exec(t.Context(), `UPDATE fakestripe.dispute SET created = created - interval '30 days'`); err != nil {
		t.Fatal(err)
	}
	c.stepDispute(t, id, fakestripe.NeedsResponse)
	c.stepDispute(t, id, fakestripe.Lost)
	c.deliver(t, lost)

	if found := c.reconcile(t); len(found) > 0 {
		t.Errorf("after it has asked about the open dispute, reconciliation finds %v", found)
	}

	c.wantReconciled(t)
	if d := c.ReadPayments(t, lostLater.OrderID)[0].Dispute; d == nil || d.Status != "lost" {
		t.Errorf("the dispute is %+v, want lost", d)
	}
	c.wantDisputedFunds(t)
}
