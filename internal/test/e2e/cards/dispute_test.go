package cards_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
)

// dispute lets a bank dispute kopecks of a payment, and returns the dispute's id.
func (c cardShop) dispute(t testing.TB, p e2e.Payment, kopecks int64, status string) string {
	t.Helper()
	charge, _ := c.charge(t, p)
	id, err := c.provider.OpenDispute(t.Context(), charge.ID, kopecks, status)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (c cardShop) stepDispute(t testing.TB, id, status string) {
	t.Helper()
	if err := c.provider.StepDispute(t.Context(), id, status); err != nil {
		t.Fatal(err)
	}
}

// lost lets no webhook arrive.
func lost([]fakestripe.Webhook) []fakestripe.Webhook { return nil }

// wantDisputedFunds compares the ledger entries about disputes with what the provider has
// withdrawn, returned and charged.
func (c cardShop) wantDisputedFunds(t testing.TB) {
	t.Helper()
	rows, _ := c.provider.DB.Query(t.Context(), `
		SELECT t->>'id' || ' ' || moved.kind || ' ' || moved.kopecks
		FROM fakestripe.dispute d, jsonb_array_elements(d.transactions) t,
		     LATERAL (VALUES ('dispute', (t->>'amount')::bigint), ('dispute_fee', -(t->>'fee')::bigint)) moved (kind, kopecks)
		WHERE moved.kopecks <> 0 ORDER BY 1`)
	theirs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	rows, _ = c.DB.Query(t.Context(), `
		SELECT reference || ' ' || kind || ' ' || (CASE debit WHEN 'provider' THEN 100 ELSE -100 END * amount)::bigint
		FROM ledger_entry WHERE kind IN ('dispute', 'dispute_fee') ORDER BY 1`)
	ours, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(theirs)
	slices.Sort(ours)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("disputed funds (-the provider's +ours):\n%s", diff)
	}
}

func TestDispute_IsShownAndSearched(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o, p := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
	_, other := mustBuyByCard(t, c.Service, "tea", 1, "pm_card_visa")
	c.deliver(t, lost)
	id := c.dispute(t, p, 20000, fakestripe.NeedsResponse)

	c.deliver(t, repeated)

	shown := c.ReadPayments(t, o.ID)[0].Dispute
	if shown == nil || shown.DueBy == nil {
		t.Fatalf("the payment shows %+v", shown)
	}
	want := &e2e.Dispute{ID: id, Amount: "200.00", Currency: "RUB", Reason: "fraudulent", Status: "needs_response", DueBy: shown.DueBy}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("dispute (-want +got):\n%s", diff)
	}
	search := e2e.Get(c.AdminToken(t), "/payments?disputed=true")
	if found := e2e.Want[e2e.Page[e2e.Payment]](t, c.Service, http.StatusOK, search).Data; len(found) != 1 || found[0].ID != p.ID {
		t.Errorf("disputed payments: %+v, want payment %d and not %d", found, p.ID, other.ID)
	}
	c.WantProblem(t, http.StatusConflict, "payment_disputed", c.RefundCall(c.AdminToken(t), o.ID, ""))
	c.WantProblem(t, http.StatusConflict, "payment_disputed", c.CancelCall(c.CustomerToken(t), o.ID))
	c.stepDispute(t, id, fakestripe.Won)
	c.deliver(t, repeated)
	if found := e2e.Want[e2e.Page[e2e.Payment]](t, c.Service, http.StatusOK, search).Data; len(found) != 0 {
		t.Errorf("after it was won: %+v", found)
	}
	e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, "1.00"))
	c.wantDisputedFunds(t)
}

// The bank returns other money than it took, because rates change.
func TestDispute_MovesMoneyInTheCurrencyOfTheAccount(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	price := c.PutPriceCall(t, "tea", e2e.Shop, e2e.Money{Amount: "1000", Currency: "JPY"})
	e2e.Want[e2e.Product](t, c.Service, http.StatusOK, price)
	_, p := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
	c.deliver(t, lost)
	for _, end := range []string{fakestripe.Won, fakestripe.Lost} {
		c.stepDispute(t, c.dispute(t, p, 300, fakestripe.NeedsResponse), end)
	}

	c.deliver(t, repeated)

	// 300 × 3 and 300 × 3 were taken and 300 × 2 returned, with two fees.
	if charge, _ := c.charge(t, p); charge.Currency != "jpy" || charge.Disputed != "4200 rub" {
		t.Errorf("the provider has %+v", charge)
	}
	c.wantSameMoney(t)
}

// A bank takes the money, and returns it a day later.
func TestDispute_ThatIsLostCanBeWonLater(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o, p := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
	id := c.dispute(t, p, 20000, fakestripe.NeedsResponse)
	c.stepDispute(t, id, fakestripe.Lost)
	c.deliver(t, repeated)
	c.WantProblem(t, http.StatusConflict, "refund_exceeds_payment", c.RefundCall(c.AdminToken(t), o.ID, "1.00"))
	c.stepDispute(t, id, fakestripe.Won)

	c.deliver(t, repeated)

	if d := c.ReadPayments(t, o.ID)[0].Dispute; d == nil || d.Status != "won" {
		t.Errorf("the dispute is %+v, want won", d)
	}
	e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, "1.00"))
	c.wantDisputedFunds(t)
}

// A rule of the shop at the provider returns the money, and the dispute is prevented.
func TestDispute_ThatReturnsTheMoneyIsLost(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o, p := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
	c.dispute(t, p, 20000, fakestripe.Prevented)
	c.deliver(t, repeated)
	c.WantProblem(t, http.StatusConflict, "refund_exceeds_payment", c.RefundCall(c.AdminToken(t), o.ID, "1.00"))
	e2e.Want[e2e.Order](t, c.Service, http.StatusOK, c.CancelCall(c.CustomerToken(t), o.ID))
	c.wantDisputedFunds(t)
	c.wantReconciled(t)
}

// The bank disputes a late capture that the service does not know yet.
func TestDispute_OfALateCaptureIsFound(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o := c.MustCreateOrder(t, e2e.Alice, "tea", 2)
	failed := awaitSettled(t, c.Service, c.MustPayByCard(t, o.ID, "pm_card_declined"))
	c.provider.Capture(t, failed, c.PaymentKey(t, failed.ID), 20000, c.NewKey())
	c.stepDispute(t, c.dispute(t, failed, 20000, fakestripe.NeedsResponse), fakestripe.Lost)

	c.deliver(t, repeated) // the capture last

	e2e.Eventually(t, "the dispute is found", func() bool {
		d := c.ReadPayments(t, o.ID)[0].Dispute
		return d != nil && d.Status == "lost"
	})
	c.wantDisputedFunds(t)
}
