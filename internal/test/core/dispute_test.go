package coretest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

// Reports returns the present state at the provider.
func (g *gateway) Reports(context.Context, cards.ReportQuery) ([]cards.Report, error) {
	return g.reports, nil
}

// Refund refuses.
func (g *gateway) Refund(_ context.Context, r cards.RefundRequest) (cards.ChargeResult, error) {
	return cards.ChargeResult{Terms: r.Terms, Outcome: cards.ChargeRefused, Reason: g.refused}, nil
}

// A bank may change its decision, and an event about the first one may be late. Only a
// changed decision moves money.
func TestDispute_FollowsADecisionThatTheBankHasChanged(t *testing.T) {
	t.Parallel()
	lost, won := dispute("dp_1", cards.DisputeLost, "-80.00"), dispute("dp_1", cards.DisputeWon, "-80.00", "+80.00")
	lostAgain := dispute("dp_1", cards.DisputeLost, "-80.00", "+80.00", "-79.00")
	for name, c := range map[string]struct {
		reports []cards.Report
		status  cards.DisputeStatus
		events  []string
	}{
		"lost, then won":        {[]cards.Report{lost, won, won}, cards.DisputeWon, []string{"payment.dispute_lost", "payment.dispute_won"}},
		"won, and a late loss":  {[]cards.Report{won, lost}, cards.DisputeWon, []string{"payment.dispute_won"}},
		"won, then lost":        {[]cards.Report{won, lostAgain, lostAgain}, cards.DisputeLost, []string{"payment.dispute_won", "payment.dispute_lost"}},
		"lost, and a late gain": {[]cards.Report{lostAgain, won}, cards.DisputeLost, []string{"payment.dispute_lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			o := paidByCard(t, f)
			caused := f.effects(func() {
				for _, r := range c.reports {
					f.report(t, r)
				}
			})
			if diff := cmp.Diff(append([]string{"payment.disputed"}, c.events...), caused.Events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if got := f.payment(t, o).Disputes.Shown().Status; got != c.status {
				t.Errorf("the dispute is %s, want %s", got, c.status)
			}
		})
	}
}

// A dispute without an amount cannot be stored, and would fail again at each redelivery.
func TestDispute_OfNoAmountIsAMismatch(t *testing.T) {
	t.Parallel()
	f := newFixture()
	paidByCard(t, f)
	nothing := dispute("dp_1", cards.DisputeNeedsResponse)
	nothing.Dispute.Amount = core.Zero("RUB")
	if got := f.report(t, nothing); !strings.HasPrefix(got, "rejected: ") {
		t.Error(got)
	}
}

// The provider has captured a failed payment late. Somebody has refunded a part of it in the
// dashboard, and a bank has taken back all. The service hears of the capture last.
func TestLateCapture_IsKnownBeforeWhatHasMovedSince(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := placedWithCards(t, f)
	made, lost := dashboardRefund("re_1", "30.00", cards.ChargeSucceeded), dispute("dp_1", cards.DisputeLost, "-80.00")
	f.Payments.Gateway = &gateway{
		change:  func(r *cards.ChargeResult) { r.Outcome, r.Reason = cards.ChargeRefused, "generic_decline" },
		reports: []cards.Report{made, lost},
		refused: "charge_disputed",
	}
	mustRun(t, f, confirm(payment.ByCard), ann, o)
	p := f.payment(t, o)
	if err := f.Payments.SettlePayment(t.Context(), p.ID); err != nil {
		t.Fatal(err)
	}
	captured := cards.Report{Result: cards.ChargeResult{
		Terms:   cards.Terms{Payment: p.Key(), OrderID: o.ID, Amount: p.Amount},
		Outcome: cards.ChargeSucceeded, Received: p.Amount, ExternalID: "pi_1",
	}}
	for i, want := range []string{"ignored", "ignored", "applied"} {
		if got := f.report(t, []cards.Report{made, lost, captured}[i]); got != want {
			t.Errorf("report %d is %s, want %s", i, got, want)
		}
	}
	if err := f.Payments.SettleRefund(t.Context(), f.payment(t, o).Refunds[0].ID); err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, e := range f.Store.Entries() {
		if e.PaymentID == p.ID {
			entries = append(entries, fmt.Sprintf("%s>%s %s", e.Debit, e.Credit, e.Amount.Decimal()))
		}
	}
	want := []string{"provider>unapplied 80.00", "unapplied>provider 30.00", "disputes>provider 80.00", "dispute_fees>provider 15.00"}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("ledger entries (-want +got):\n%s", diff)
	}
}
