package cards_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
)

// refundInDashboard refunds kopecks of a payment at the provider, and returns the
// refund's id there.
func (c cardShop) refundInDashboard(t testing.TB, p e2e.Payment, kopecks int64) string {
	t.Helper()
	charge, _ := c.charge(t, p)
	id, err := c.provider.RefundInDashboard(t.Context(), charge.ID, kopecks, "succeeded")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// deliver sends the provider's webhooks, after arrange has changed them.
func (c cardShop) deliver(t testing.TB, arrange func([]fakestripe.Webhook) []fakestripe.Webhook) {
	t.Helper()
	c.provider.SendTo(c.URL + "/webhooks/stripe")
	if err := c.provider.ArrangeWebhooks(t.Context(), arrange); err != nil {
		t.Fatal(err)
	}
	if err := c.provider.Deliver(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// repeated lets each webhook arrive twice, the last one first.
func repeated(webhooks []fakestripe.Webhook) (all []fakestripe.Webhook) {
	for _, w := range slices.Backward(webhooks) {
		all = append(all, w, w)
	}
	return all
}

func TestDashboardRefund_IsOnTheOrderAndInTheBooks(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o, p := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
	c.refundInDashboard(t, p, 5000)

	c.deliver(t, repeated)

	c.WantOrderStatus(t, o.ID, "paid")
	found := c.ReadPayments(t, o.ID)[0]
	want := []e2e.Refund{{
		PaymentID: p.ID, OrderID: o.ID, Amount: e2e.Roubles("50.00"), Status: "succeeded", Reason: "requested_by_customer", MadeBy: "provider",
	}}
	for i := range found.Refunds {
		found.Refunds[i].ID = 0
	}
	if diff := cmp.Diff(want, found.Refunds); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
	c.WantProblem(t, http.StatusConflict, "refund_exceeds_payment", c.RefundCall(c.AdminToken(t), o.ID, "150.01"))
	c.refundInDashboard(t, p, 15000)
	c.deliver(t, repeated)
	c.WantOrderStatus(t, o.ID, "cancelled")
	c.WantStock(t, "tea", 10, 0)
	c.wantReconciled(t)
}

// The webhook is lost, and the shop refunds as well. The provider refuses, and the service
// finds out why.
func TestDashboardRefund_IsFoundWhenTheProviderRefusesOurs(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o, p := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
	c.refundInDashboard(t, p, 20000)

	ours := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, ""))

	if status := awaitRefundSettled(t, c.Service, ours); status != "failed" {
		t.Errorf("our refund is %s, want failed", status)
	}
	found := c.ReadPayments(t, o.ID)[0]
	if len(found.Refunds) != 2 || found.Refunded != found.Amount {
		t.Errorf("%+v", found)
	}
	for _, r := range found.Refunds {
		if r.ID == ours.ID && (r.MadeBy != "api" || r.Failure == nil || *r.Failure != "charge_already_refunded") {
			t.Errorf("our refund: %+v", r)
		}
	}
	c.wantReconciled(t)
	if n := c.Count(t, `SELECT count(*) FROM audit_log WHERE action = 'AdoptRefund' AND resource = $1`, fmt.Sprintf("order/%d", o.ID)); n != 1 {
		t.Errorf("%d audit entries, want 1", n)
	}
}

// A bank returns the money of a refund days later.
func TestDashboardRefund_ThatFailsLaterIsRefundableAgain(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o, p := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
	id := c.refundInDashboard(t, p, 5000)
	if err := c.provider.FailRefund(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	c.deliver(t, repeated)
	if found := c.ReadPayments(t, o.ID)[0]; found.Refunded.Amount != "0.00" || len(found.Refunds) != 1 || found.Refunds[0].Status != "failed" {
		t.Errorf("%+v", found)
	}
	ours := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, ""))
	awaitRefundSettled(t, c.Service, ours)
	c.wantRefunded(t, p, 20000)
	c.wantReconciled(t)
}
