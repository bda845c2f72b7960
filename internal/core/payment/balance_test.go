package payment

import (
	"testing"
	"time"

	"example.com/orders/internal/core"
)

// A transaction that began first may change the balance last.
func TestBalance_PlacesEntriesInTheOrderOfItsChanges(t *testing.T) {
	t.Parallel()
	b := &Balance{}
	for i, began := range []time.Time{now, now.Add(-time.Hour), now, now.Add(time.Hour)} {
		last, e := b.ChangedAt, &LedgerEntry{}
		b.place(e, began)
		if e.Position != int64(i+1) || b.Position != e.Position {
			t.Errorf("entry %d has position %d, the balance %d", i+1, e.Position, b.Position)
		}
		if !e.CreatedAt.After(last) || e.CreatedAt.Before(began) || !b.ChangedAt.Equal(e.CreatedAt) {
			t.Errorf("entry %d is of %v, began at %v; the one before is of %v", i+1, e.CreatedAt, began, last)
		}
	}
}

// So does one that makes a payment or a refund.
func TestOrderPayments_GivePaymentsAndRefundsTimesInTheirOrder(t *testing.T) {
	t.Parallel()
	op, by := unpaid("80.00"), core.Operation{Actor: "ann", Key: "key-1"}
	last := now.Add(time.Minute)
	op.Payments = []*Payment{{Status: Failed, CreatedAt: last}}
	p, _, err := op.payFromBalance(by, now)
	if err != nil || !p.CreatedAt.After(last) {
		t.Errorf("the payment is of %v, err = %v; want after %v", p.CreatedAt, err, last)
	}
	p.Refunds = []*Refund{{CreatedAt: last, Status: RefundFailed, Amount: rub("1.00")}}
	r, _, err := op.refund(p, rub("1.00"), by, now)
	if err != nil || !r.CreatedAt.After(last) {
		t.Errorf("the refund is of %v, err = %v; want after %v", r.CreatedAt, err, last)
	}
}
