package e2e_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/dev/fakestripe"
)

// refusals are the tokens that capture nothing, and the reasons that may be told of
// them. The rest captures once, whatever happens on the way.
var refusals = map[string][]string{
	"pm_card_declined": {"generic_decline"},
	"pm_insufficient":  {"insufficient_funds"},
	"pm_late_declined": {"generic_decline"},
	"pm_action":        {"requires_action", "canceled", "abandoned"}, // by whoever tells first
	"pm_of_nobody":     {"resource_missing"},
}

// skuOf names the product that a token's payments are for.
func skuOf(token string) string { return strings.ReplaceAll(token, "_", "-") }

// attempt is a payment of the table and how it was asked for.
type attempt struct {
	order orderBody
	asked call
	first reply
	paid  cardPayment
}

func TestEachBehaviourOfTheProviderEndsInOneChargeAtMost(t *testing.T) {
	t.Parallel()
	tokens := append(fakestripe.Tokens(), "pm_of_nobody")
	stock := shelf{}
	for _, token := range tokens {
		stock[skuOf(token)] = 10
	}
	for name, webhooks := range map[string]bool{"the provider tells nothing by itself": false, "the provider sends webhooks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCardShop(t, stock)
			c.work()
			if webhooks {
				c.provider.sendWebhooks(c.service)
			}
			attempts := map[string]attempt{}
			for _, token := range tokens { // all at once: some take their time
				a := attempt{order: c.order(alice, skuOf(token), 2)}
				a.asked = c.cardCall(a.order.ID, token, c.newKey())
				a.first = c.send(a.asked)
				a.paid = want[cardPayment](c.service, http.StatusOK, a.asked)
				attempts[token] = a
			}
			for token, a := range attempts {
				t.Run(token, func(t *testing.T) { c.in(t).checkAttempt(token, a) })
			}
			c.sameBooks()
			if found := c.reconciled(); len(found) > 0 {
				t.Errorf("the books differ: %v", found)
			}
		})
	}
}

// checkAttempt waits for the end of a payment and looks at all that it may touch.
func (c cardShop) checkAttempt(token string, a attempt) {
	c.Helper()
	paid := c.decided(a.paid)
	reasons, refused := refusals[token]
	charge, charged := c.theirCharges()[int64(paid.ID)]
	if refused {
		if paid.Status != "failed" || !slices.Contains(reasons, paid.why()) || charged {
			c.Errorf("the payment is %s because of %q, the provider charged %+v; want failed, one of %q, nothing", paid.Status, paid.why(), charge, reasons)
		}
		if o := c.readOrder(a.order.ID); o.Status != "pending_payment" {
			c.Errorf("the order is %s, want pending_payment", o.Status)
		}
		c.stockIs(skuOf(token), 10, 2) // still kept for the order
		next := c.decided(c.payByCard(a.order.ID, "pm_card_visa"))
		if next.Status != "captured" || next.ID == paid.ID {
			c.Errorf("another card's payment %d is %s, want captured and not %d again", next.ID, next.Status, paid.ID)
		}
		charge = c.theirCharges()[int64(next.ID)]
	} else if paid.Status != "captured" || paid.Failure != nil {
		c.Errorf("the payment is %s because of %q, want captured", paid.Status, paid.why())
	}
	if charge.Count != 1 || charge.Amount != 20000 || charge.Currency != "rub" {
		c.Errorf("the provider charged %+v, want 200.00 roubles once", charge)
	}
	if o := c.readOrder(a.order.ID); o.Status != "paid" {
		c.Errorf("the order is %s, want paid", o.Status)
	}
	c.stockIs(skuOf(token), 8, 0)
	again := c.send(a.asked)
	if again.status != a.first.status || !bytes.Equal(again.body, a.first.body) || again.header.Get("Idempotent-Replayed") != "true" {
		c.Errorf("the key is answered %d %s now, and was %d %s", again.status, again.body, a.first.status, a.first.body)
	}
}

func TestAnOrderWhosePaymentIsUnderWayTakesNoOther(t *testing.T) {
	t.Parallel()
	c := newCardShop(t, shelf{"tea": 10})
	o := c.order(alice, "tea", 2)
	c.credit(alice, o.Total.Amount)
	p := c.payByCard(o.ID, "pm_card_visa")
	c.wantProblem(http.StatusConflict, "invalid_order_state", c.cardCall(o.ID, "pm_card_visa", c.newKey()))
	c.wantProblem(http.StatusConflict, "invalid_order_state", c.confirmCall(alice, o.ID, c.newKey()))
	c.work()
	c.decided(p)
	c.wantProblem(http.StatusConflict, "invalid_order_state", c.cardCall(o.ID, "pm_card_visa", c.newKey()))
	if charge := c.theirCharges()[int64(p.ID)]; charge.Count != 1 {
		t.Errorf("the provider charged %+v, want once", charge)
	}
	if n := c.count(`SELECT count(*) FROM payment`); n != 1 {
		t.Errorf("%d payments, want 1", n)
	}
	c.sameBooks()
}

func TestRefundsToACardAreMadeOnceByTheProvider(t *testing.T) {
	t.Parallel()
	tokens := []string{"pm_card_visa", "pm_refund_drop", "pm_refund_500", "pm_refund_late", "pm_twice"}
	for name, webhooks := range map[string]bool{"the provider tells nothing by itself": false, "the provider sends webhooks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCardShop(t, shelf{"tea": 100})
			c.work()
			if webhooks {
				c.provider.sendWebhooks(c.service)
			}
			for _, token := range tokens {
				t.Run(token, func(t *testing.T) { c.in(t).refundAndCancel(token) })
			}
			c.sameBooks()
			if found := c.reconciled(); len(found) > 0 {
				t.Errorf("the books differ: %v", found)
			}
		})
	}
}

// refundAndCancel gives one payment back in parts, and another by cancelling its order.
func (c cardShop) refundAndCancel(token string) {
	c.Helper()
	parts, part := c.boughtByCard("tea", 3, token)
	whole, all := c.boughtByCard("tea", 1, token)
	before := c.product("tea").OnHand
	ask := c.refundCall(c.asAdmin(), parts.ID, "120.50")
	first := want[refundBody](c.service, http.StatusOK, ask)
	if first.Status != "pending" {
		c.Errorf("the refund begins as %s, want pending", first.Status)
	}
	c.wantProblem(http.StatusConflict, "refund_exceeds_payment", c.refundCall(c.asAdmin(), parts.ID, "179.51"))
	if got := c.refundDecided(first); got != "succeeded" {
		c.Errorf("the partial refund is %s", got)
	}
	if again := c.send(ask); again.header.Get("Idempotent-Replayed") != "true" || !bytes.Contains(again.body, []byte(`"pending"`)) {
		c.Errorf("the key of the refund is answered %d %s now", again.status, again.body)
	}
	if o := c.readOrder(parts.ID); o.Status != "paid" {
		c.Errorf("after a partial refund the order is %s, want paid", o.Status)
	}
	if got := c.theirCharges()[int64(part.ID)].Refunded; got != 12050 {
		c.Errorf("the provider gave %d back, want 12050", got)
	}
	rest := want[refundBody](c.service, http.StatusOK, c.refundCall(c.asAdmin(), parts.ID, ""))
	if got := c.refundDecided(rest); got != "succeeded" || rest.Amount.Amount != "179.50" {
		c.Errorf("the rest, %s, is %s", rest.Amount.Amount, got)
	}
	want[orderBody](c.service, http.StatusOK, c.cancelCall(c.asCustomer(), whole.ID))
	eventually(c, "the cancelled order is refunded", func() bool {
		return c.count(`SELECT count(*) FROM refund WHERE order_id = $1 AND status = 'succeeded'`, whole.ID) == 1
	})
	for _, o := range []orderBody{parts, whole} {
		if got := c.readOrder(o.ID).Status; got != "cancelled" {
			c.Errorf("order %d is %s, want cancelled", o.ID, got)
		}
	}
	charges := c.theirCharges()
	if charges[int64(part.ID)].Refunded != 30000 || charges[int64(all.ID)].Refunded != 10000 {
		c.Errorf("the provider gave %+v and %+v back, want all", charges[int64(part.ID)], charges[int64(all.ID)])
	}
	c.stockIs("tea", before+4, 0)
}

func TestARefundThatFailedLeavesTheMoneyRefundable(t *testing.T) {
	t.Parallel()
	c := newCardShop(t, shelf{"tea": 100})
	c.work()
	o, p := c.boughtByCard("tea", 3, "pm_refund_fail")
	for range 2 { // the second can be only if the first took nothing
		r := want[refundBody](c.service, http.StatusOK, c.refundCall(c.asAdmin(), o.ID, "299.00"))
		if got := c.refundDecided(r); got != "failed" {
			t.Errorf("the refund is %s, want failed", got)
		}
	}
	if read := c.readPayments(o.ID)[0]; read.Refunded.Amount != "0.00" || len(read.Refunds) != 2 {
		t.Errorf("%s of the payment is refunded, by %d refunds; want nothing, 2", read.Refunded.Amount, len(read.Refunds))
	}
	if got := c.readOrder(o.ID).Status; got != "paid" {
		t.Errorf("the order is %s, want paid", got)
	}
	if charge := c.theirCharges()[int64(p.ID)]; charge.Refunded != 0 {
		t.Errorf("the provider gave %d back", charge.Refunded)
	}
	if n := c.count(`SELECT count(*) FROM ledger_entry WHERE kind = 'refund'`); n != 0 {
		t.Errorf("%d entries of refunds, want none", n)
	}
	c.sameBooks()
}

func TestReconciliationFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	c := newCardShop(t, shelf{"tea": 100})
	c.work()
	_, extra := c.boughtByCard("tea", 1, "pm_card_visa")
	_, changed := c.boughtByCard("tea", 1, "pm_drop")
	_, gone := c.boughtByCard("tea", 1, "pm_500")
	_, returned := c.boughtByCard("tea", 1, "pm_card_visa")
	_, forgotten := c.boughtByCard("tea", 1, "pm_card_visa")
	unrefunded, _ := c.boughtByCard("tea", 1, "pm_refund_fail")
	c.boughtByCard("tea", 1, "pm_card_visa")
	declined := c.decided(c.payByCard(c.order(alice, "tea", 1).ID, "pm_card_declined"))
	if found := c.reconciled(); len(found) > 0 {
		t.Fatalf("before anything was planted: %v", found)
	}
	c.chargeBehindUs(extra, 10000)
	c.chargeBehindUs(declined, 10000)
	c.chargeBehindUs(cardPayment{ID: 4711, OrderID: 4711}, 10000)
	for _, planted := range []struct {
		sql string
		of  cardPayment
	}{
		{`UPDATE fakestripe.intent SET amount = amount + 1 WHERE metadata->>'payment_id' = $1`, changed},
		{`UPDATE fakestripe.intent SET status = 'canceled' WHERE metadata->>'payment_id' = $1`, gone},
		{`INSERT INTO fakestripe.refund (id, intent, amount, status, failure, metadata)
			SELECT 're_planted', id, 500, 'succeeded', '', '{}' FROM fakestripe.intent WHERE metadata->>'payment_id' = $1`, returned},
	} {
		if _, err := c.provider.db.Exec(t.Context(), planted.sql, fmt.Sprint(planted.of.ID)); err != nil {
			t.Fatal(err)
		}
	}
	c.exec(`UPDATE payment SET status = 'processing', created_at = now() - interval '30 days' WHERE id = $1`, forgotten.ID)
	// Nobody planted this: the card does not take the money of a cancelled order back.
	cancelled := want[orderBody](c.service, http.StatusOK, c.cancelCall(c.asCustomer(), unrefunded.ID))
	eventually(t, "the refund has failed", func() bool {
		return c.count(`SELECT count(*) FROM refund WHERE order_id = $1 AND status = 'failed'`, cancelled.ID) == 1
	})
	want := map[string]string{
		fmt.Sprintf("payment/%d", extra.ID):        "captured here, and 2 times by the provider",
		fmt.Sprintf("payment/%d", declined.ID):     "failed here, and captured by the provider",
		fmt.Sprintf("payment/%d", changed.ID):      "at the provider",
		fmt.Sprintf("payment/%d", gone.ID):         "captured here, and 0 times by the provider",
		fmt.Sprintf("payment/%d", returned.ID):     "by the provider",
		fmt.Sprintf("payment/%d", forgotten.ID):    "still processing",
		fmt.Sprintf("order/%d", forgotten.OrderID): "without a captured payment",
		"payment/4711":                        "unknown here, and 1 times captured by the provider",
		fmt.Sprintf("order/%d", cancelled.ID): "cancelled, and 0 of 100.0000 given back",
	}
	found := c.reconciled()
	c.exec(`UPDATE payment SET status = 'captured' WHERE id = $1`, forgotten.ID) // ours, so put right again
	for _, d := range found {
		if want[d.Resource] == "" || !strings.Contains(d.Detail, want[d.Resource]) {
			t.Errorf("found %s: %q, want %q", d.Resource, d.Detail, want[d.Resource])
		}
	}
	if len(found) != len(want) {
		t.Errorf("found %d differences, want %d: %v", len(found), len(want), found)
	}
}
