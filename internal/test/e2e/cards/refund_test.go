package cards_test

import (
	"bytes"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// The provider also reports outcomes by webhooks.
func TestCardRefund_IsMadeOnceByTheProvider(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"pm_refund_drop": 10, "pm_refund_late": 10})
	c.Run(t)
	c.provider.sendWebhooks(t, c.Service)
	c.checkRefundInParts(t, "pm_refund_drop")
	c.checkRefundByCancellation(t, "pm_refund_late")
	c.wantReconciled(t)
}

// checkRefundInParts refunds a payment in two parts, for the product that is named like its
// card token. The second one cancels its order.
func (c cardShop) checkRefundInParts(t *testing.T, cardToken string) {
	t.Helper()
	o, p := mustBuyByCard(t, c.Service, cardToken, 3, cardToken)
	before := c.ReadProduct(t, cardToken).OnHand
	call := c.RefundCall(c.AdminToken(t), o.ID, "120.50")
	part := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, call)
	if part.Status != "pending" {
		t.Errorf("the refund begins as %s, want pending", part.Status)
	}
	c.WantProblem(t, http.StatusConflict, "refund_exceeds_payment", c.RefundCall(c.AdminToken(t), o.ID, "179.51"))
	if got := awaitRefundSettled(t, c.Service, part); got != "succeeded" {
		t.Errorf("the partial refund is %s, want succeeded", got)
	}
	if replay := c.Send(t, call); !replay.Replayed() || !bytes.Contains(replay.Body, []byte(`"pending"`)) {
		t.Errorf("the replay is %d %s, want the pending refund", replay.Status, replay.Body)
	}
	c.WantOrderStatus(t, o.ID, "paid")
	c.wantRefunded(t, p, 12050)

	full := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, ""))
	if got := awaitRefundSettled(t, c.Service, full); got != "succeeded" || full.Amount.Amount != "179.50" {
		t.Errorf("the full refund of %s is %s, want 179.50 and succeeded", full.Amount.Amount, got)
	}
	c.WantOrderStatus(t, o.ID, "cancelled")
	c.wantRefunded(t, p, 30000)
	c.WantStock(t, cardToken, before+3, 0)
}

// checkRefundByCancellation cancels a paid order.
func (c cardShop) checkRefundByCancellation(t *testing.T, cardToken string) {
	t.Helper()
	o, p := mustBuyByCard(t, c.Service, cardToken, 1, cardToken)
	before := c.ReadProduct(t, cardToken).OnHand
	e2e.Want[e2e.Order](t, c.Service, http.StatusOK, c.CancelCall(c.CustomerToken(t), o.ID))
	e2e.Eventually(t, "the cancelled order is refunded", func() bool {
		return c.Count(t, `SELECT count(*) FROM refund WHERE order_id = $1 AND status = 'succeeded'`, o.ID) == 1
	})
	c.WantOrderStatus(t, o.ID, "cancelled")
	c.wantRefunded(t, p, 10000)
	c.WantStock(t, cardToken, before+1, 0)
}

// wantRefunded checks how much of a payment the provider refunded.
func (c cardShop) wantRefunded(t testing.TB, p e2e.Payment, kopecks int64) {
	t.Helper()
	if charge, _ := c.charge(t, p); charge.Refunded != kopecks {
		t.Errorf("the provider refunded %d kopecks of payment %d, want %d", charge.Refunded, p.ID, kopecks)
	}
}
