package payment

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
)

func TestRefund_IsDecidedOnceAndARefusalIsFinal(t *testing.T) {
	t.Parallel()
	const seller = Account("seller/shop")
	for name, test := range map[string]struct {
		was           RefundStatus
		outcome       ChargeOutcome
		want          RefundStatus
		debit, credit Account // none where no money moves
	}{
		"succeeded":                {was: RefundPending, outcome: ChargeSucceeded, want: RefundSucceeded, debit: seller, credit: ProviderAccount},
		"refused":                  {was: RefundPending, outcome: ChargeRefused, want: RefundFailed},
		"not decided":              {was: RefundPending, outcome: ChargePending, want: RefundPending},
		"succeeded, repeated":      {was: RefundSucceeded, outcome: ChargeSucceeded, want: RefundSucceeded},
		"succeeded, late pending":  {was: RefundSucceeded, outcome: ChargePending, want: RefundSucceeded},
		"succeeded, then returned": {was: RefundSucceeded, outcome: ChargeRefused, want: RefundFailed, debit: ProviderAccount, credit: seller},
		"refused, repeated":        {was: RefundFailed, outcome: ChargeRefused, want: RefundFailed},
		"returned, late success":   {was: RefundFailed, outcome: ChargeSucceeded, want: RefundFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Refund{ID: 9, PaymentID: 7, Amount: rub("30.00"), Status: test.was}
			m, changed := r.decide(ChargeResult{Outcome: test.outcome, ExternalID: "re_1"}, seller)
			if r.Status != test.want || changed != (test.was != test.want) {
				t.Errorf("it is %s, changed %t; want %s", r.Status, changed, test.want)
			}
			var want *LedgerEntry
			if test.debit != "" {
				want = &LedgerEntry{Kind: EntryRefund, Debit: test.debit, Credit: test.credit, Amount: r.Amount, PaymentID: 7, RefundID: 9}
			}
			if diff := cmp.Diff(want, m, cmp.Comparer(core.Money.Equal)); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
		})
	}
}
