package cards_test

import (
	"fmt"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// A signed event of 1.00 USD for a payment of 200.00 RUB.
func TestWebhook_ThatDiffersLetsTheJobDecide(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 5})
	answer := c.provider.refuseCalls()
	admin := e2e.FreeAddr(t)
	settings := append(e2e.CardSettings(c.provider.URL), "ORDERS_ADMIN_ADDR="+admin)
	process := c.ServiceOf(c.StartProcess(t, e2e.BuildOrders(t), settings...))
	p := c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")

	process.SendWebhook(t, fmt.Sprintf(`{"id": "evt_1", "type": "payment_intent.succeeded",
		"data": {"object": {"id": "pi_1", "amount": 100, "currency": "usd", "metadata": {"orders_payment": %q, "order_id": "%d"}}}}`,
		c.PaymentKey(t, p.ID), p.OrderID))

	c.WantOrderStatus(t, p.OrderID, "payment_processing")
	if n := e2e.RejectedWebhooks.Read(t, admin); n != 1 {
		t.Errorf("%d webhooks are counted as rejected, want 1", n)
	}
	answer()
	if got := awaitSettled(t, c.Service, p).Status; got != "captured" {
		t.Errorf("the payment is %s, want captured", got)
	}
	if charge, _ := c.charge(t, p); charge.Count != 1 || charge.Amount != 20000 {
		t.Errorf("the provider charged %+v, want 200.00 once", charge)
	}
	c.wantReconciled(t)
}
