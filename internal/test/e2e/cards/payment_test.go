package cards_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
)

// refusedTokens are the card tokens that capture nothing, and the reasons that a
// payment may have then. All others capture once, whatever happens on the way.
var refusedTokens = map[string][]string{
	"pm_card_declined": {"generic_decline"},
	"pm_insufficient":  {"insufficient_funds"},
	"pm_late_declined": {"generic_decline"},
	"pm_action":        {"requires_action", "canceled", "abandoned"}, // whichever is reported first
	"pm_of_nobody":     {"resource_missing"},
}

// skuOf names the product that the payments of a card token are for.
func skuOf(cardToken string) string { return strings.ReplaceAll(cardToken, "_", "-") }

// attempt is a payment by a card token.
type attempt struct {
	cardToken string
	order     e2e.Order
	call      e2e.Call
	first     e2e.Reply
	payment   e2e.Payment
}

func TestCardPayment_IsChargedAtMostOnceWhateverTheProviderDoes(t *testing.T) {
	t.Parallel()
	cardTokens := append(fakestripe.Tokens(), "pm_of_nobody")
	stock := e2e.Stock{}
	for _, token := range cardTokens {
		stock[skuOf(token)] = 10
	}
	c := startCardShop(t, stock)
	c.Run(t)
	var attempts []attempt
	for _, token := range cardTokens { // all at once, because some take their time
		a := attempt{cardToken: token, order: c.MustCreateOrder(t, e2e.Alice, skuOf(token), 2)}
		a.call = c.CardCall(t, a.order.ID, token)
		a.first = c.Send(t, a.call)
		a.payment = e2e.Want[e2e.Payment](t, c.Service, http.StatusOK, a.call)
		attempts = append(attempts, a)
	}
	for _, a := range attempts {
		t.Run(a.cardToken, func(t *testing.T) { c.checkAttempt(t, a) })
	}
	c.wantReconciled(t)
}

// checkAttempt waits until a payment is settled, and checks everything that it changes.
func (c cardShop) checkAttempt(t *testing.T, a attempt) {
	t.Helper()
	settled := awaitSettled(t, c.Service, a.payment)
	paid := settled
	if reasons, refused := refusedTokens[a.cardToken]; refused {
		c.checkRefused(t, a, settled, reasons)
		paid = awaitSettled(t, c.Service, c.MustPayByCard(t, a.order.ID, "pm_card_visa"))
		if paid.Status != "captured" || paid.ID == settled.ID {
			t.Errorf("payment %d by another card is %s, want captured and not %d", paid.ID, paid.Status, settled.ID)
		}
	} else if settled.Status != "captured" || settled.Failure != nil {
		t.Errorf("the payment is %s because of %q, want captured", settled.Status, settled.Reason())
	}
	if charge, _ := c.charge(t, paid); charge.Count != 1 || charge.Amount != 20000 || charge.Currency != "rub" {
		t.Errorf("the provider charged %+v, want 200.00 roubles once", charge)
	}
	c.WantOrderStatus(t, a.order.ID, "paid")
	c.WantStock(t, skuOf(a.cardToken), 8, 0)
	if replay := c.Send(t, a.call); !replay.SameAs(a.first) || !replay.Replayed() {
		t.Errorf("the replay is %d %s, the first response was %d %s", replay.Status, replay.Body, a.first.Status, a.first.Body)
	}
}

// checkRefused checks a payment that the provider refused. The stock stays reserved.
func (c cardShop) checkRefused(t *testing.T, a attempt, p e2e.Payment, reasons []string) {
	t.Helper()
	charge, charged := c.charge(t, p)
	if p.Status != "failed" || !slices.Contains(reasons, p.Reason()) || charged {
		t.Errorf("the payment is %s because of %q, the provider charged %+v; want failed, one of %q, nothing",
			p.Status, p.Reason(), charge, reasons)
	}
	c.WantOrderStatus(t, a.order.ID, "pending_payment")
	c.WantStock(t, skuOf(a.cardToken), 10, 2)
}

func TestConfirmPayment_RefusesSecondPaymentWhileOneIsProcessing(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	o := c.MustCreateOrder(t, e2e.Alice, "tea", 2)
	c.Credit(t, e2e.Alice, o.Total.Amount)
	p := c.MustPayByCard(t, o.ID, "pm_card_visa")
	c.WantProblem(t, http.StatusConflict, "invalid_order_state", c.CardCall(t, o.ID, "pm_card_visa"))
	c.WantProblem(t, http.StatusConflict, "invalid_order_state", c.ConfirmCall(t, e2e.Alice, o.ID))
	c.Run(t)
	awaitSettled(t, c.Service, p)
	c.WantProblem(t, http.StatusConflict, "invalid_order_state", c.CardCall(t, o.ID, "pm_card_visa"))
	if charge, _ := c.charge(t, p); charge.Count != 1 {
		t.Errorf("the provider charged %+v, want once", charge)
	}
	if n := c.Count(t, `SELECT count(*) FROM payment`); n != 1 {
		t.Errorf("%d payments, want 1", n)
	}
	c.wantSameMoney(t)
}
