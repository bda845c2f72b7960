package cards_test

import (
	"bytes"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

func TestCardRefund_IsMadeOnceByTheProvider(t *testing.T) {
	t.Parallel()
	cardTokens := []string{"pm_card_visa", "pm_refund_drop", "pm_refund_500", "pm_refund_late", "pm_twice"}
	for name, webhooks := range webhookModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCardShop(t, e2e.Stock{"tea": 100})
			c.Run(t)
			if webhooks {
				c.provider.sendWebhooks(t, c.Service)
			}
			for _, token := range cardTokens {
				t.Run(token, func(t *testing.T) {
					c.checkRefundInParts(t, token)
					c.checkRefundByCancellation(t, token)
				})
			}
			c.wantReconciled(t)
		})
	}
}

// checkRefundInParts refunds a payment in two parts. The second one cancels its order.
func (c cardShop) checkRefundInParts(t *testing.T, cardToken string) {
	t.Helper()
	o, p := mustBuyByCard(t, c.Service, "tea", 3, cardToken)
	before := c.ReadProduct(t, "tea").OnHand
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
	c.WantStock(t, "tea", before+3, 0)
}

// checkRefundByCancellation cancels a paid order.
func (c cardShop) checkRefundByCancellation(t *testing.T, cardToken string) {
	t.Helper()
	o, p := mustBuyByCard(t, c.Service, "tea", 1, cardToken)
	before := c.ReadProduct(t, "tea").OnHand
	e2e.Want[e2e.Order](t, c.Service, http.StatusOK, c.CancelCall(c.CustomerToken(t), o.ID))
	e2e.Eventually(t, "the cancelled order is refunded", func() bool {
		return c.Count(t, `SELECT count(*) FROM refund WHERE order_id = $1 AND status = 'succeeded'`, o.ID) == 1
	})
	c.WantOrderStatus(t, o.ID, "cancelled")
	c.wantRefunded(t, p, 10000)
	c.WantStock(t, "tea", before+1, 0)
}

// wantRefunded checks how much of a payment the provider refunded.
func (c cardShop) wantRefunded(t testing.TB, p e2e.Payment, kopecks int64) {
	t.Helper()
	if charge, _ := c.charge(t, p); charge.Refunded != kopecks {
		t.Errorf("the provider refunded %d kopecks of payment %d, want %d", charge.Refunded, p.ID, kopecks)
	}
}

func TestCardRefund_ThatFailsLeavesMoneyRefundable(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 100})
	c.Run(t)
	o, p := mustBuyByCard(t, c.Service, "tea", 3, "pm_refund_fail")
	for range 2 { // the second is possible only if the first refunded nothing
		r := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, "299.00"))
		if got := awaitRefundSettled(t, c.Service, r); got != "failed" {
			t.Errorf("the refund is %s, want failed", got)
		}
	}
	if read := c.ReadPayments(t, o.ID)[0]; read.Refunded.Amount != "0.00" || len(read.Refunds) != 2 {
		t.Errorf("%s of the payment is refunded, by %d refunds; want nothing, 2", read.Refunded.Amount, len(read.Refunds))
	}
	c.WantOrderStatus(t, o.ID, "paid")
	c.wantRefunded(t, p, 0)
	if n := c.Count(t, `SELECT count(*) FROM ledger_entry WHERE kind = 'refund'`); n != 0 {
		t.Errorf("%d ledger entries of refunds, want none", n)
	}
	c.wantSameMoney(t)
}
