package payment

import (
	"testing"
	"time"
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

func TestOrderPayments_GivePaymentsAndRefundsTimesInTheirOrder(t *testing.T) {
	t.Parallel()
	p := &Payment{CreatedAt: now, Refunds: []*Refund{{CreatedAt: now.Add(time.Minute)}, {CreatedAt: now}}}
	op := &OrderPayments{Payments: []*Payment{p, {CreatedAt: now.Add(-time.Minute)}}}
	if at := op.timeOfPayment(now.Add(-time.Hour)); !at.After(now) {
		t.Errorf("the next payment is of %v, want after %v", at, now)
	}
	if at := p.timeOfRefund(now); !at.After(now.Add(time.Minute)) {
		t.Errorf("the next refund is of %v, want after %v", at, now.Add(time.Minute))
	}
}
