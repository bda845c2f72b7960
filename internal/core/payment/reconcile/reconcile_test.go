package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
)

// The times of the tests: settled divides what has had time to settle from what has not,
// and the provider's charges are listed since listed.
var (
	settled = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	before  = settled.Add(-time.Minute)
	since   = settled.Add(time.Minute)
	listed  = settled.Add(-time.Hour)
	old     = listed.Add(-time.Minute)
)

func rub(amount string) core.Money {
	m, err := core.ParseMoney(amount, "RUB")
	if err != nil {
		panic(err)
	}
	return m
}

func card(status payment.Status, at time.Time, refunds ...*payment.Refund) *payment.Payment {
	return &payment.Payment{
		ID: 7, UUID: "of-7", Method: payment.ByCard, Amount: rub("100.00"), Status: status, Refunds: refunds, CreatedAt: at,
		Card: payment.Card{ExternalID: "pi_1"},
	}
}

func refund(status payment.RefundStatus, amount string, at time.Time) *payment.Refund {
	return &payment.Refund{ID: 9, Amount: rub(amount), Status: status, CreatedAt: at}
}

func charge(amount, refunded string) cards.ProviderCharge {
	return cards.ProviderCharge{
		Terms: cards.Terms{Payment: "payment-of-7", Amount: rub(amount)}, ExternalID: "pi_1",
		Captured: true, Received: rub(amount), Refunded: rub(refunded),
	}
}

// received is a charge of 100.00 that moved another amount.
func received(amount string) cards.ProviderCharge {
	c := once
	c.Received = rub(amount)
	return c
}

// another is the charge with another id.
func another(id string) cards.ProviderCharge {
	c := once
	c.ExternalID = id
	return c
}

var once = charge("100.00", "0.00")

// comparisons are payments, their charges at the provider, and the expected mismatch.
var comparisons = map[string]struct {
	payment *payment.Payment
	charges []cards.ProviderCharge
	want    string // "" for none
}{
	"captured once":                   {card(payment.Captured, before), []cards.ProviderCharge{once}, ""},
	"captured twice":                  {card(payment.Captured, before), []cards.ProviderCharge{once, once}, "captured here, and 2 times by the provider"},
	"captured never":                  {card(payment.Captured, before), nil, "captured here, and 0 times by the provider"},
	"captured a moment ago":           {card(payment.Captured, since), nil, ""},
	"another amount":                  {card(payment.Captured, before), []cards.ProviderCharge{charge("99.99", "0.00")}, "100.00 RUB here, and 99.99 RUB at the provider"},
	"another charge":                  {card(payment.Captured, before), []cards.ProviderCharge{another("pi_2")}, "the charge pi_1 here, and pi_2 at the provider"},
	"less received":                   {card(payment.Captured, before), []cards.ProviderCharge{received("0.01")}, "100.00 RUB here, and 0.01 RUB received by the provider"},
	"failed":                          {card(payment.Failed, before), nil, ""},
	"failed and captured":             {card(payment.Failed, before), []cards.ProviderCharge{once}, "failed here, and captured by the provider"},
	"failed, captured and given back": {card(payment.Failed, before, refund(payment.RefundSucceeded, "100.00", before)), []cards.ProviderCharge{charge("100.00", "100.00")}, ""},
	"failed, and captured twice":      {card(payment.Failed, before, refund(payment.RefundSucceeded, "100.00", before)), []cards.ProviderCharge{charge("100.00", "100.00"), once}, "failed here, and 2 times captured by the provider"},
	"failed, being given back":        {card(payment.Failed, before, refund(payment.RefundPending, "100.00", since)), []cards.ProviderCharge{once}, ""},
	"failed, and the refund failed":   {card(payment.Failed, before, refund(payment.RefundFailed, "100.00", before)), []cards.ProviderCharge{once}, "failed here, and captured by the provider"},
	"failed, and partly refunded":     {card(payment.Failed, before, refund(payment.RefundSucceeded, "78.00", before)), []cards.ProviderCharge{charge("100.00", "78.00")}, "failed here, and captured by the provider"},
	"failed, captured another amount": {card(payment.Failed, before), []cards.ProviderCharge{charge("99.99", "0.00")}, "failed here, and captured by the provider"},
	"processing":                      {card(payment.Processing, before), nil, "still processing"},
	"processing and captured":         {card(payment.Processing, before), []cards.ProviderCharge{once}, "still processing"},
	"processing since a moment":       {card(payment.Processing, since), nil, ""},
	"too old to be listed":            {card(payment.Captured, old), nil, ""},
	"old, and a refund on its way":    {card(payment.Captured, old, refund(payment.RefundPending, "30.00", since)), nil, ""},
	"old, and a refund is pending":    {card(payment.Captured, old, refund(payment.RefundPending, "30.00", before)), nil, "refund 9 is still pending"},
	"processing for ever":             {card(payment.Processing, old), nil, "still processing"},
	"old, and captured twice":         {card(payment.Captured, old), []cards.ProviderCharge{once, once}, "captured here, and 2 times by the provider"},
	"old, and refunded here only":     {card(payment.Captured, old, refund(payment.RefundSucceeded, "30.00", before)), nil, "refund 9 of 30.00 RUB here, and unknown to the provider"},
	"old, and refunded for long":      {card(payment.Captured, old, refund(payment.RefundSucceeded, "30.00", old)), nil, ""},
	"old, and refunded a moment ago":  {card(payment.Captured, old, refund(payment.RefundSucceeded, "30.00", since)), nil, ""},
	"old, and a refund failed":        {card(payment.Captured, old, refund(payment.RefundFailed, "30.00", before)), nil, ""},
	"old, and refunded there only":    {card(payment.Captured, old), []cards.ProviderCharge{charge("100.00", "30.00")}, "0.00 RUB refunded here, and 30.00 RUB by the provider"},
	"of nobody":                       {nil, []cards.ProviderCharge{once}, `captured by the provider for "payment-of-7", which is unknown here`},
	"refunded":                        {card(payment.Captured, before, refund(payment.RefundSucceeded, "30.00", before)), []cards.ProviderCharge{charge("100.00", "30.00")}, ""},
	"refunded here only":              {card(payment.Captured, before, refund(payment.RefundSucceeded, "30.00", before)), []cards.ProviderCharge{once}, "30.00 RUB refunded here, and 0.00 RUB by the provider"},
	"refunded there only":             {card(payment.Captured, before), []cards.ProviderCharge{charge("100.00", "30.00")}, "0.00 RUB refunded here, and 30.00 RUB by the provider"},
	"a refund that failed":            {card(payment.Captured, before, refund(payment.RefundFailed, "30.00", before)), []cards.ProviderCharge{once}, ""},
	"a refund that is pending":        {card(payment.Captured, before, refund(payment.RefundPending, "30.00", before)), []cards.ProviderCharge{once}, "refund 9 is still pending"},
	"a refund pending since a moment": {card(payment.Captured, before, refund(payment.RefundPending, "30.00", since)), []cards.ProviderCharge{once}, ""},
	"a refund made a moment ago":      {card(payment.Captured, before, refund(payment.RefundSucceeded, "30.00", since)), []cards.ProviderCharge{once}, ""},
}

func TestCompare_ReportsMismatches(t *testing.T) {
	t.Parallel()
	for name, test := range comparisons {
		t.Run(name, func(t *testing.T) {
			var payments []*payment.Payment
			if test.payment != nil {
				payments = append(payments, test.payment)
			}
			captured := capturedCharges(test.charges)
			var want []payment.Mismatch
			if test.want != "" {
				want = []payment.Mismatch{{Resource: "payment/7", Detail: test.want}}
				if test.payment == nil {
					want[0].Resource = "charge/pi_1"
				}
			}
			if diff := cmp.Diff(want, compare(payments, captured, nil, listed, settled)); diff != "" {
				t.Errorf("mismatches (-want +got):\n%s", diff)
			}
		})
	}
}

// reported are a refund and a dispute of payment 7 at the provider.
func reported(outcome cards.ChargeOutcome, status cards.DisputeStatus) reportsByPayment {
	return reportsByPayment{"payment-of-7": {
		{Result: cards.ChargeResult{Terms: cards.Terms{Amount: rub("30.00")}, Outcome: outcome, ExternalID: "re_1", Charge: "pi_1"}},
		{Dispute: &cards.DisputeReport{Dispute: cards.Dispute{ID: "dp_1", Amount: rub("100.00"), Status: status}, Charge: "pi_1"}},
	}}
}

func TestCompare_ReportsWhatIsNotAdopted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refund   payment.RefundStatus
		dispute  cards.DisputeStatus
		reported reportsByPayment
		want     string
	}{
		"the same":            {payment.RefundSucceeded, cards.DisputeLost, reported(cards.ChargeSucceeded, cards.DisputeLost), ""},
		"no refund":           {"", cards.DisputeLost, reported(cards.ChargeSucceeded, cards.DisputeLost), "the refund re_1 of 30.00 RUB at the provider, and not here"},
		"a failed refund":     {payment.RefundFailed, cards.DisputeLost, reported(cards.ChargeRefused, cards.DisputeLost), ""},
		"one that has failed": {payment.RefundFailed, cards.DisputeLost, reported(cards.ChargeSucceeded, cards.DisputeLost), "the refund re_1 of 30.00 RUB at the provider, and not here"},
		"no dispute":          {payment.RefundSucceeded, "", reported(cards.ChargeSucceeded, cards.DisputeLost), "the dispute dp_1 is lost at the provider, and not here"},
		"another status":      {payment.RefundSucceeded, cards.DisputeWon, reported(cards.ChargeSucceeded, cards.DisputeLost), "the dispute dp_1 is lost at the provider, and not here"},
	} {
		p := card(payment.Captured, old)
		if c.refund != "" {
			r := refund(c.refund, "30.00", old)
			r.ExternalID = "re_1"
			p.Refunds = append(p.Refunds, r)
		}
		if c.dispute != "" {
			p.Disputes = append(p.Disputes, &cards.Dispute{ID: "dp_1", Status: c.dispute})
		}
		var want []payment.Mismatch
		if c.want != "" {
			want = []payment.Mismatch{{Resource: "payment/7", Detail: c.want}}
		}
		if diff := cmp.Diff(want, compare([]*payment.Payment{p}, nil, c.reported, listed, settled)); diff != "" {
			t.Errorf("%s: mismatches (-want +got):\n%s", name, diff)
		}
	}
}

// The customer has the money back without a refund of ours.
func TestCompare_AcceptsALateCaptureThatTheBankHasTakenBack(t *testing.T) {
	t.Parallel()
	p := card(payment.Failed, before, refund(payment.RefundFailed, "100.00", before))
	p.Disputes = cards.Disputes{{ID: "dp_1", Amount: p.Amount, Status: cards.DisputeLost}}
	captured := capturedCharges([]cards.ProviderCharge{once})
	if found := compare([]*payment.Payment{p}, captured, nil, listed, settled); len(found) > 0 {
		t.Error(found)
	}
}
