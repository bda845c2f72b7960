package cards_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

func TestReconciliation_FindsMismatches(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 100})
	c.Run(t)
	buy := func(cardToken string) e2e.Payment {
		_, p := mustBuyByCard(t, c.Service, "tea", 1, cardToken)
		return p
	}
	chargedTwice, otherAmount, notCaptured := buy("pm_card_visa"), buy("pm_drop"), buy("pm_500")
	refunded, unsettled, unrefundable := buy("pm_card_visa"), buy("pm_card_visa"), buy("pm_refund_fail")
	old := buy("pm_card_visa") // an old payment that the provider still reports
	declined := awaitSettled(t, c.Service,
		c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, "pm_card_declined"))
	c.Exec(t, `UPDATE payment SET created_at = now() - interval '30 days' WHERE id = $1`, old.ID)
	if found := c.reconcile(t); len(found) > 0 {
		t.Fatalf("before anything was changed: %v", found)
	}

	for _, p := range []e2e.Payment{chargedTwice, declined} {
		c.provider.Capture(t, p, c.PaymentKey(t, p.ID), 10000, c.NewKey())
	}
	// The number of a payment of ours, in another database.
	c.provider.Capture(t, chargedTwice, anotherDatabases, 10000, c.NewKey())
	c.changeAtProvider(t, otherAmount, `UPDATE fakestripe.intent SET amount = amount + 1 WHERE metadata->>'orders_payment' = $1`)
	c.changeAtProvider(t, notCaptured, `UPDATE fakestripe.intent SET status = 'canceled' WHERE metadata->>'orders_payment' = $1`)
	c.changeAtProvider(t, refunded, `INSERT INTO fakestripe.refund (id, intent, amount, status, failure, metadata)
		SELECT 're_planted', id, 500, 'succeeded', '', '{}' FROM fakestripe.intent WHERE metadata->>'orders_payment' = $1`)
	c.Exec(t, `UPDATE payment SET status = 'processing', created_at = now() - interval '30 days' WHERE id = $1`, unsettled.ID)
	// The card rejects the refund of a cancelled order: a mismatch that nobody made.
	e2e.Want[e2e.Order](t, c.Service, http.StatusOK, c.CancelCall(c.CustomerToken(t), unrefundable.OrderID))
	e2e.Eventually(t, "the refund has failed", func() bool {
		return c.Count(t, `SELECT count(*) FROM refund WHERE order_id = $1 AND status = 'failed'`, unrefundable.OrderID) == 1
	})

	found := c.reconcile(t)

	c.Exec(t, `UPDATE payment SET status = 'captured' WHERE id = $1`, unsettled.ID) // for the invariants
	want := map[string]string{                                                      // a part of the detail, by resource
		fmt.Sprintf("payment/%d", chargedTwice.ID):                      "captured here, and 2 times by the provider",
		fmt.Sprintf("payment/%d", declined.ID):                          "is still pending", // the refund that gives it back
		fmt.Sprintf("payment/%d", otherAmount.ID):                       "at the provider",
		fmt.Sprintf("payment/%d", notCaptured.ID):                       "captured here, and 0 times by the provider",
		fmt.Sprintf("payment/%d", refunded.ID):                          "by the provider",
		fmt.Sprintf("payment/%d", unsettled.ID):                         "still processing",
		fmt.Sprintf("order/%d", unsettled.OrderID):                      "without a captured payment",
		"charge/" + c.provider.chargesByPayment(t)[anotherDatabases].ID: "which is unknown here",
		fmt.Sprintf("order/%d", unrefundable.OrderID):                   "cancelled, and 0 of 100.0000 given back",
	}
	for _, m := range found {
		if want[m.Resource] == "" || !strings.Contains(m.Detail, want[m.Resource]) {
			t.Errorf("found %s: %q, want %q", m.Resource, m.Detail, want[m.Resource])
		}
	}
	if len(found) != len(want) {
		t.Errorf("found %d mismatches, want %d: %v", len(found), len(want), found)
	}
}

// anotherDatabases is the key of a payment that our database does not know.
const anotherDatabases = "payment-6a1a7f0e-3f4b-4c0f-9f65-5b0e9d1f2a3b"

// changeAtProvider changes the provider's database. $1 is the key of our payment.
func (c cardShop) changeAtProvider(t testing.TB, p e2e.Payment, sql string) {
	t.Helper()
	if _, err := c.provider.DB.Exec(t.Context(), sql, c.PaymentKey(t, p.ID)); err != nil {
		t.Fatal(err)
	}
}
