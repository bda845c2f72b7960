// Package cards_test tests payments and refunds by card, and reconciliation, with
// processes that are killed.
package cards_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// refusedTokens are the card tokens that capture nothing, and the reasons that a
// payment may have then. All others capture once, whatever happens on the way.
var refusedTokens = map[string][]string{
	"pm_card_declined": {"generic_decline"},
	"pm_insufficient":  {"insufficient_funds"},
	"pm_late_declined": {"generic_decline"},
	"pm_action":        {"authentication_required", "cancelled"}, // whichever is reported first
	"pm_of_nobody":     {"unknown_card"},
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

// An operator learns from the refund why the money did not arrive, and can refund again.
func TestCardRefund_ThatTheProviderRefusesShowsTheReason(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	c.provider.sendWebhooks(t, c.Service)
	o, p := mustBuyByCard(t, c.Service, "tea", 2, "pm_refund_fail")
	begun := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, ""))
	if begun.Failure != nil {
		t.Errorf("a pending refund has the failure %q, want null", *begun.Failure)
	}

	awaitRefundSettled(t, c.Service, begun)

	read := e2e.Get(c.CustomerToken(t), fmt.Sprintf("/refunds/%d", begun.ID))
	shown := []e2e.Refund{e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, read)}
	shown = append(shown, c.ReadPayments(t, o.ID)[0].Refunds...)
	want := begun
	want.Status, want.Failure = "failed", new("expired_or_canceled_card")
	if diff := cmp.Diff([]e2e.Refund{want, want}, shown); diff != "" {
		t.Errorf("the refund, alone and in its payment (-want +got):\n%s", diff)
	}
	e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, ""))
	c.wantRefunded(t, p, 0)
}

// What no card takes is refused before the provider is asked, and pays from the balance.
func TestCardPayment_OfAnImpossibleAmountIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := e2e.StartCardShop(t, nil)
	dinars := func(sku, price string) e2e.Order {
		s.MustSend(t, s.PutProductCall(t, sku, e2e.Shop, e2e.Money{Amount: price, Currency: "KWD"}, 10))
		return s.MustCreateOrder(t, e2e.Alice, sku, 1)
	}

	odd := dinars("odd", "35.205")
	s.WantProblem(t, http.StatusUnprocessableEntity, "payment_method_unavailable", s.CardCall(t, odd.ID, "pm_card_visa"))
	s.WantOrderStatus(t, odd.ID, "pending_payment")

	even := dinars("even", "35.200")
	p := awaitSettled(t, s, s.MustPayByCard(t, even.ID, "pm_card_visa"))
	refund := s.RefundCall(s.CustomerToken(t), even.ID, "").WithBody(`{"amount": {"amount": "0.005", "currency": "KWD"}}`)
	reply := s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", refund)
	if diff := cmp.Diff([]string{"#/amount/amount"}, reply.Pointers()); diff != "" || p.Status != "captured" {
		t.Errorf("the payment is %s, and the refund names %s", p.Status, diff)
	}
	s.MustSend(t, s.RefundCall(s.CustomerToken(t), even.ID, ""))
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
