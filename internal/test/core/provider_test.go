package coretest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

// dashboardRefund returns a report about a refund that somebody made of the charge pi_1 in the
// provider's dashboard.
func dashboardRefund(id, amount string, outcome cards.ChargeOutcome) cards.Report {
	return cards.Report{Result: cards.ChargeResult{
		Terms: cards.Terms{Amount: money(amount, "RUB")}, Outcome: outcome, ExternalID: id, Charge: "pi_1", Note: "duplicate",
	}}
}

// report sends the report as a provider event, and returns the outcome and the mismatch.
func (f *fixture) report(t testing.TB, r cards.Report) string {
	t.Helper()
	message := core.Message{Source: "stripe", ID: f.key(), SentAt: f.now()}
	outcome, mismatch, err := f.Payments.ApplyProviderEvent(t.Context(), payment.ProviderEvent{Message: message, Report: r})
	if err != nil {
		t.Fatal(err)
	}
	if mismatch != nil {
		return fmt.Sprintf("%s: %s", outcome, mismatch.Detail)
	}
	return string(outcome)
}

// payment returns the only payment of an order.
func (f *fixture) payment(t testing.TB, o *order.Order) *payment.Payment {
	t.Helper()
	payments, err := f.Payments.ListPayments(t.Context(), ann, o.ID)
	if err != nil || len(payments) != 1 {
		t.Fatalf("payments: %v, %v", payments, err)
	}
	return payments[0]
}

func TestProviderEvent_AdoptsARefundOfTheDashboard(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := paidByCard(t, f)
	made := dashboardRefund("re_1", "30.00", cards.ChargeSucceeded)
	caused := f.effects(func() {
		for range 3 {
			if got := f.report(t, made); got != "applied" {
				t.Error(got)
			}
		}
	})
	want := effects{
		Events:  []string{"refund.pending", "refund.succeeded"},
		Audited: []string{fmt.Sprintf("provider AdoptRefund order/%d", o.ID)},
	}
	if diff := cmp.Diff(want, caused); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	p := f.payment(t, o)
	adopted := &payment.Refund{
		ID: p.Refunds[0].ID, UUID: p.Refunds[0].UUID, PaymentID: p.ID, OrderID: o.ID, Amount: money("30.00", "RUB"),
		Status: payment.RefundSucceeded, Reason: "duplicate", ExternalID: "re_1", MadeAtProvider: true,
		By: core.Operation{Actor: "provider"}, CreatedAt: f.now(),
	}
	if diff := cmp.Diff([]*payment.Refund{adopted}, p.Refunds); diff != "" {
		t.Errorf("refunds (-want +got):\n%s", diff)
	}
	wantCode(t, "a refund of more than is left", run(refund("50.01", ""), ann)(t, f, o), core.CodeRefundExceedsPayment)
}

// The provider's money and ours are the same, whatever is reported in which order.
func TestProviderEvent_AdoptsRefundsInAnyOrder(t *testing.T) {
	t.Parallel()
	pending, made := dashboardRefund("re_1", "80.00", cards.ChargePending), dashboardRefund("re_1", "80.00", cards.ChargeSucceeded)
	failed, part := dashboardRefund("re_1", "80.00", cards.ChargeRefused), dashboardRefund("re_2", "50.00", cards.ChargeSucceeded)
	for name, c := range map[string]struct {
		reports            []cards.Report
		returned           string
		status             order.Status
		events, mismatches int
	}{
		"all of it":             {[]cards.Report{made}, "80.00", order.Cancelled, 3, 0},
		"decided later":         {[]cards.Report{pending, made, pending}, "80.00", order.Cancelled, 3, 0},
		"failed at once":        {[]cards.Report{failed, pending, made}, "0.00", order.Paid, 2, 0},
		"failed later":          {[]cards.Report{made, failed, made}, "0.00", order.Cancelled, 4, 0},
		"a part":                {[]cards.Report{part, part}, "50.00", order.Paid, 2, 0},
		"more than was paid":    {[]cards.Report{part, made}, "50.00", order.Paid, 2, 1},
		"failed, and once more": {[]cards.Report{made, failed, part}, "50.00", order.Cancelled, 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			o := paidByCard(t, f)
			mismatches := 0
			caused := f.effects(func() {
				for _, r := range c.reports {
					if f.report(t, r) != "applied" {
						mismatches++
					}
				}
			})
			p := f.payment(t, o)
			if got := p.Refunded().Decimal(); got != c.returned || f.order(t, o.ID).Status != c.status {
				t.Errorf("%s refunded of an order that is %s; want %s and %s", got, f.order(t, o.ID).Status, c.returned, c.status)
			}
			if len(caused.Events) != c.events || mismatches != c.mismatches {
				t.Errorf("events %v and %d mismatches; want %d and %d", caused.Events, mismatches, c.events, c.mismatches)
			}
		})
	}
}

// Our refund waits for the provider while somebody refunds in its dashboard. The provider
// will refuse ours, so nobody has to ask.
func TestProviderEvent_RefusesOurRefundThatIsNoLongerPossible(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := paidByCard(t, f)
	mustRun(t, f, refund("50.00", "broken"), root, o)
	f.advanceClock(time.Second)
	caused := f.effects(func() { f.report(t, dashboardRefund("re_1", "80.00", cards.ChargeSucceeded)) })
	if diff := cmp.Diff([]string{"refund.pending", "refund.succeeded", "order.cancelled", "refund.failed"}, caused.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	p := f.payment(t, o)
	ours := p.Refunds[1]
	if ours.Status != payment.RefundFailed || ours.Failure != "charge_already_refunded" || !p.Refundable().IsZero() {
		t.Errorf("our refund is %s because of %q, and %s is refundable", ours.Status, ours.Failure, p.Refundable())
	}
}

func TestProviderEvent_IgnoresARefundOfAnotherCharge(t *testing.T) {
	t.Parallel()
	f := newFixture()
	paidByCard(t, f)
	foreign := dashboardRefund("re_1", "30.00", cards.ChargeSucceeded)
	foreign.Result.Charge = "pi_2"
	caused := f.effects(func() {
		if got := f.report(t, foreign); got != "ignored" {
			t.Error(got)
		}
	})
	if diff := cmp.Diff(effects{}, caused); diff != "" {
		t.Error(diff)
	}
}

// A captured payment has one charge, for ever. Another one with our key is reported at once.
func TestProviderEvent_ComparesTheIdOfTheCharge(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := paidByCard(t, f)
	p := f.payment(t, o)
	terms := cards.Terms{Payment: p.Key(), OrderID: o.ID, Amount: p.Amount}
	another := cards.Report{Result: cards.ChargeResult{Terms: terms, Outcome: cards.ChargeSucceeded, Received: p.Amount, ExternalID: "pi_2"}}
	mustRun(t, f, refund("30.00", "broken"), root, o)
	ours := f.payment(t, o).Refunds[0]
	elsewhere := cards.Report{Result: cards.ChargeResult{
		Terms:   cards.Terms{Payment: p.Key(), Refund: ours.Key(), OrderID: o.ID, Amount: ours.Amount},
		Outcome: cards.ChargeSucceeded, ExternalID: "re_1", Charge: "pi_2",
	}}
	caused := f.effects(func() {
		if got := f.report(t, another); got != "rejected: the charge pi_1 here, and pi_2 at the provider" {
			t.Error(got)
		}
		if got := f.report(t, elsewhere); got != `rejected: the charge pi_1 here, and "pi_2" at the provider` {
			t.Error(got)
		}
	})
	if diff := cmp.Diff(effects{}, caused); diff != "" {
		t.Error(diff)
	}
}

func TestProviderEvent_IgnoresForeignEvents(t *testing.T) {
	t.Parallel()
	f := newFixture()
	paidByCard(t, f)
	event := payment.ProviderEvent{
		Message: core.Message{Source: "stripe", ID: "evt_1", SentAt: f.now()}, Foreign: true,
		Report: dashboardRefund("re_1", "30.00", cards.ChargeSucceeded),
	}
	caused := f.effects(func() {
		if outcome, mismatch, err := f.Payments.ApplyProviderEvent(t.Context(), event); outcome != payment.EventForeign || mismatch != nil || err != nil {
			t.Errorf("%s, %v, %v", outcome, mismatch, err)
		}
	})
	if diff := cmp.Diff(effects{}, caused); diff != "" {
		t.Error(diff)
	}
}

// dispute returns a report about a dispute of the charge pi_1, with the money that it has
// moved: "-80.00" was withdrawn, "+80.00" came back, and each withdrawal cost 15.00.
func dispute(id string, status cards.DisputeStatus, moved ...string) cards.Report {
	report := &cards.DisputeReport{Charge: "pi_1", Dispute: cards.Dispute{
		ID: id, Amount: money("80.00", "RUB"), Reason: "fraudulent", Status: status,
		DueBy: time.Date(2026, time.March, 10, 0, 0, 0, 0, time.UTC), CreatedAt: time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC),
	}}
	for _, m := range moved {
		funds := cards.DisputedFunds{ExternalID: "txn_" + id + m, Amount: money(m[1:], "RUB"), Returned: m[0] == '+'}
		report.Funds = append(report.Funds, funds)
		if !funds.Returned {
			fee := funds
			fee.Amount, fee.Fee = money("15.00", "RUB"), true
			report.Funds = append(report.Funds, fee)
		}
	}
	return cards.Report{Dispute: report}
}

// disputedFunds returns the ledger entries about disputes, as accounts and amount.
func (f *fixture) disputedFunds() (found []string) {
	for _, e := range f.Store.Entries() {
		if e.Kind == payment.EntryDispute || e.Kind == payment.EntryDisputeFee {
			found = append(found, fmt.Sprintf("%s>%s %s", e.Debit, e.Credit, e.Amount.Decimal()))
		}
	}
	return found
}

// A dispute ends in the same books and events whatever the order of its reports.
func TestProviderEvent_RecordsADisputeInAnyOrder(t *testing.T) {
	t.Parallel()
	opened := dispute("dp_1", cards.DisputeNeedsResponse)
	withdrawn := dispute("dp_1", cards.DisputeNeedsResponse, "-80.00")
	answered := dispute("dp_1", cards.DisputeUnderReview, "-80.00")
	won := dispute("dp_1", cards.DisputeWon, "-80.00", "+80.00")
	lost := dispute("dp_1", cards.DisputeLost, "-80.00")
	asked, closed := dispute("dp_1", cards.InquiryNeedsResponse), dispute("dp_1", cards.InquiryClosed)
	for name, c := range map[string]struct {
		reports []cards.Report
		status  cards.DisputeStatus
		events  []string
		entries []string
	}{
		"opened":            {[]cards.Report{opened, opened}, cards.DisputeNeedsResponse, []string{"payment.disputed"}, nil},
		"won":               {[]cards.Report{opened, withdrawn, answered, won}, cards.DisputeWon, []string{"payment.disputed", "payment.dispute_won"}, []string{"disputes>provider 80.00", "dispute_fees>provider 15.00", "provider>disputes 80.00"}},
		"won, backwards":    {[]cards.Report{won, answered, withdrawn, opened, won}, cards.DisputeWon, []string{"payment.disputed", "payment.dispute_won"}, []string{"disputes>provider 80.00", "dispute_fees>provider 15.00", "provider>disputes 80.00"}},
		"lost":              {[]cards.Report{withdrawn, lost, opened, lost}, cards.DisputeLost, []string{"payment.disputed", "payment.dispute_lost"}, []string{"disputes>provider 80.00", "dispute_fees>provider 15.00"}},
		"an inquiry":        {[]cards.Report{asked, closed, asked}, cards.InquiryClosed, []string{"payment.disputed", "payment.dispute_won"}, nil},
		"escalated":         {[]cards.Report{asked, withdrawn, lost}, cards.DisputeLost, []string{"payment.disputed", "payment.dispute_lost"}, []string{"disputes>provider 80.00", "dispute_fees>provider 15.00"}},
		"closed, and again": {[]cards.Report{asked, closed, withdrawn, lost}, cards.DisputeLost, []string{"payment.disputed", "payment.dispute_won", "payment.disputed", "payment.dispute_lost"}, []string{"disputes>provider 80.00", "dispute_fees>provider 15.00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			o := paidByCard(t, f)
			caused := f.effects(func() {
				for _, r := range c.reports {
					if got := f.report(t, r); got != "applied" {
						t.Error(got)
					}
				}
			})
			if diff := cmp.Diff(c.events, caused.Events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if d := f.payment(t, o).Disputes.Shown(); d.Status != c.status || d.ID != "dp_1" {
				t.Errorf("the dispute %s is %s, want %s", d.ID, d.Status, c.status)
			}
			if diff := cmp.Diff(c.entries, f.disputedFunds()); diff != "" {
				t.Errorf("ledger entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDispute_StopsRefundsAndDelivery(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report                      cards.Report
		refund, cancel, deliver, ok core.Code
	}{
		"open": {dispute("dp_1", cards.DisputeUnderReview), core.CodePaymentDisputed, core.CodePaymentDisputed, core.CodePaymentDisputed, ""},
		"an inquiry": {
			dispute("dp_1", cards.InquiryNeedsResponse), core.CodePaymentDisputed, core.CodePaymentDisputed, core.CodePaymentDisputed, "",
		},
		"won":  {dispute("dp_1", cards.DisputeWon), "", core.CodeInvalidOrderState, core.CodeInvalidOrderState, core.CodeInvalidOrderState},
		"lost": {dispute("dp_1", cards.DisputeLost), core.CodeRefundExceedsPayment, "", core.CodePaymentDisputed, core.CodeInvalidOrderState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture()
			o := paidByCard(t, f)
			f.report(t, c.report)
			wantCode(t, "a refund", run(refund("80.00", ""), root)(t, f, o), c.refund)
			wantCode(t, "a cancellation", run(cancel(""), ann)(t, f, o), c.cancel)
			wantCode(t, "the delivery", run(updateStatus(order.Fulfilling), shop)(t, f, o), c.deliver)
			knowing := order.UpdateOrderStatus{OrderID: o.ID, Status: order.Fulfilling, DespiteDispute: true}
			_, err := f.Orders.UpdateOrderStatus(t.Context(), shop, knowing)
			wantCode(t, "the delivery despite the dispute", err, c.ok)
		})
	}
}

// A bank has returned a part already, so that no more than the rest can be refunded.
func TestDispute_CountsAgainstTheRefundableAmountWhenLost(t *testing.T) {
	t.Parallel()
	f := newFixture()
	o := paidByCard(t, f)
	lost := dispute("dp_1", cards.DisputeLost, "-50.00")
	lost.Dispute.Amount = money("50.00", "RUB")
	f.report(t, lost)
	second := dispute("dp_2", cards.DisputeLost)
	second.Dispute.Amount = money("10.00", "RUB")
	f.report(t, second)
	wantCode(t, "a refund of more", run(refund("20.01", ""), root)(t, f, o), core.CodeRefundExceedsPayment)
	wantCode(t, "a refund of the rest", run(refund("20.00", ""), root)(t, f, o), "")
	if got := f.order(t, o.ID).Status; got != order.Cancelled {
		t.Errorf("the order is %s, and no money is left", got)
	}
}
