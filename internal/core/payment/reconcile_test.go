package payment

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

func card(status Status, at time.Time, refunds ...*Refund) *Payment {
	return &Payment{ID: 7, UUID: "of-7", Method: ByCard, Amount: rub("100.00"), Status: status, Refunds: refunds, CreatedAt: at}
}

func refund(status RefundStatus, amount string, at time.Time) *Refund {
	return &Refund{ID: 9, Amount: rub(amount), Status: status, CreatedAt: at}
}

func charge(amount, refunded string) ProviderCharge {
	return ProviderCharge{
		Terms: Terms{Payment: "payment-of-7", Amount: rub(amount)}, ExternalID: "pi_1",
		Captured: true, Received: rub(amount), Refunded: rub(refunded),
	}
}

// received is a charge of 100.00 that moved another amount.
func received(amount string) ProviderCharge {
	c := once
	c.Received = rub(amount)
	return c
}

var once = charge("100.00", "0.00")

// comparisons are payments, their charges at the provider, and the expected mismatch.
var comparisons = map[string]struct {
	payment *Payment
	charges []ProviderCharge
	want    string // "" for none
}{
	"captured once":                   {card(Captured, before), []ProviderCharge{once}, ""},
	"captured twice":                  {card(Captured, before), []ProviderCharge{once, once}, "captured here, and 2 times by the provider"},
	"captured never":                  {card(Captured, before), nil, "captured here, and 0 times by the provider"},
	"captured a moment ago":           {card(Captured, since), nil, ""},
	"another amount":                  {card(Captured, before), []ProviderCharge{charge("99.99", "0.00")}, "100.00 RUB here, and 99.99 RUB at the provider"},
	"less received":                   {card(Captured, before), []ProviderCharge{received("0.01")}, "100.00 RUB here, and 0.01 RUB received by the provider"},
	"failed":                          {card(Failed, before), nil, ""},
	"failed and captured":             {card(Failed, before), []ProviderCharge{once}, "failed here, and captured by the provider"},
	"failed, captured and given back": {card(Failed, before, refund(RefundSucceeded, "100.00", before)), []ProviderCharge{charge("100.00", "100.00")}, ""},
	"failed, and captured twice":      {card(Failed, before, refund(RefundSucceeded, "100.00", before)), []ProviderCharge{charge("100.00", "100.00"), once}, "failed here, and 2 times captured by the provider"},
	"failed, being given back":        {card(Failed, before, refund(RefundPending, "100.00", since)), []ProviderCharge{once}, ""},
	"failed, and the refund failed":   {card(Failed, before, refund(RefundFailed, "100.00", before)), []ProviderCharge{once}, "failed here, and captured by the provider"},
	"failed, captured another amount": {card(Failed, before), []ProviderCharge{charge("99.99", "0.00")}, "failed here, and captured by the provider"},
	"processing":                      {card(Processing, before), nil, "still processing"},
	"processing and captured":         {card(Processing, before), []ProviderCharge{once}, "still processing"},
	"processing since a moment":       {card(Processing, since), nil, ""},
	"too old to be listed":            {card(Captured, old), nil, ""},
	"old, and a refund on its way":    {card(Captured, old, refund(RefundPending, "30.00", since)), nil, ""},
	"old, and a refund is pending":    {card(Captured, old, refund(RefundPending, "30.00", before)), nil, "refund 9 is still pending"},
	"processing for ever":             {card(Processing, old), nil, "still processing"},
	"old, and captured twice":         {card(Captured, old), []ProviderCharge{once, once}, "captured here, and 2 times by the provider"},
	"of nobody":                       {nil, []ProviderCharge{once}, `captured by the provider for "payment-of-7", which is unknown here`},
	"refunded":                        {card(Captured, before, refund(RefundSucceeded, "30.00", before)), []ProviderCharge{charge("100.00", "30.00")}, ""},
	"refunded here only":              {card(Captured, before, refund(RefundSucceeded, "30.00", before)), []ProviderCharge{once}, "30.00 RUB refunded here, and 0.00 RUB by the provider"},
	"refunded there only":             {card(Captured, before), []ProviderCharge{charge("100.00", "30.00")}, "0.00 RUB refunded here, and 30.00 RUB by the provider"},
	"a refund that failed":            {card(Captured, before, refund(RefundFailed, "30.00", before)), []ProviderCharge{once}, ""},
	"a refund that is pending":        {card(Captured, before, refund(RefundPending, "30.00", before)), []ProviderCharge{once}, "refund 9 is still pending"},
	"a refund pending since a moment": {card(Captured, before, refund(RefundPending, "30.00", since)), []ProviderCharge{once}, ""},
	"a refund made a moment ago":      {card(Captured, before, refund(RefundSucceeded, "30.00", since)), []ProviderCharge{once}, ""},
}

func TestCompare_ReportsMismatches(t *testing.T) {
	t.Parallel()
	for name, test := range comparisons {
		t.Run(name, func(t *testing.T) {
			var payments []*Payment
			if test.payment != nil {
				payments = append(payments, test.payment)
			}
			captured := capturedCharges(test.charges)
			var want []Mismatch
			if test.want != "" {
				want = []Mismatch{{Resource: "payment/7", Detail: test.want}}
				if test.payment == nil {
					want[0].Resource = "charge/pi_1"
				}
			}
			if diff := cmp.Diff(want, compare(payments, captured, listed, settled)); diff != "" {
				t.Errorf("mismatches (-want +got):\n%s", diff)
			}
		})
	}
}
