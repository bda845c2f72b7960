package cards_test

import (
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// startTwoIncarnations starts two card shops with one provider, on two copies of one
// database, as after a restore to an earlier moment: both give the same numbers to
// orders, payments and refunds.
func startTwoIncarnations(t *testing.T) (lost, restored cardShop) {
	t.Helper()
	lost = startCardShop(t, e2e.Stock{"tea": 10})
	restored = cardShop{e2e.Start(t, e2e.CardSettings(lost.provider.URL)...), lost.provider}
	restored.StockUp(t, e2e.Stock{"tea": 10})
	lost.Run(t)
	restored.Run(t)
	return lost, restored
}

func TestCardPayment_IsChargedWhenALostRowHadItsNumber(t *testing.T) {
	t.Parallel()
	lost, restored := startTwoIncarnations(t)
	_, first := mustBuyByCard(t, lost.Service, "tea", 2, "pm_card_visa")
	o := restored.MustCreateOrder(t, e2e.Alice, "tea", 2)
	second := restored.MustPayByCard(t, o.ID, "pm_card_visa")
	if first.ID != second.ID || first.OrderID != second.OrderID {
		t.Fatalf("the payments are %d and %d; they must have one number", first.ID, second.ID)
	}

	if got := awaitSettled(t, restored.Service, second).Status; got != "captured" {
		t.Errorf("the second payment is %s, want captured", got)
	}

	if charges := restored.provider.intents(t); len(charges) != 2 {
		t.Errorf("the provider captured %v, want 20000 twice", charges)
	}
}

func TestCardRefund_IsMadeWhenALostRowHadItsNumber(t *testing.T) {
	t.Parallel()
	lost, restored := startTwoIncarnations(t)
	for _, shop := range []cardShop{lost, restored} {
		o, p := mustBuyByCard(t, shop.Service, "tea", 2, "pm_card_visa")
		r := e2e.Want[e2e.Refund](t, shop.Service, http.StatusOK, shop.RefundCall(shop.AdminToken(t), o.ID, "50.00"))
		if p.ID != 1 || r.ID != 1 {
			t.Fatalf("payment %d, refund %d; the numbers must be those of the other database", p.ID, r.ID)
		}
		if got := awaitRefundSettled(t, shop.Service, r); got != "succeeded" {
			t.Errorf("the refund is %s, want succeeded", got)
		}
	}
	if refunds := restored.provider.refunds(t); len(refunds) != 2 {
		t.Errorf("the provider refunded %v, want 5000 twice", refunds)
	}
}

// A webhook about a payment of the lost database decides nothing about the payment
// that has its number now.
func TestWebhook_AboutALostRowIsIgnored(t *testing.T) {
	t.Parallel()
	lost, restored := startTwoIncarnations(t)
	mustBuyByCard(t, lost.Service, "tea", 2, "pm_card_visa")
	release := restored.provider.refuseCalls()
	o := restored.MustCreateOrder(t, e2e.Alice, "tea", 2)
	p := restored.MustPayByCard(t, o.ID, "pm_card_visa")

	restored.provider.SendTo(restored.URL + "/webhooks/stripe")
	if err := restored.provider.Deliver(t.Context()); err != nil {
		t.Errorf("the webhooks of the lost payment: %v", err)
	}

	restored.WantOrderStatus(t, o.ID, "payment_processing")
	release()
	if got := awaitSettled(t, restored.Service, p).Status; got != "captured" {
		t.Errorf("the payment is %s, want captured", got)
	}
	if charges := restored.provider.intents(t); len(charges) != 2 {
		t.Errorf("the provider captured %v, want 20000 twice", charges)
	}
}
