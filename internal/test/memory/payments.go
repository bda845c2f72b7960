package memory

import (
	"cmp"
	"context"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// payments implements [payment.Payments].
type payments struct{ *tx }

// Get returns a payment with its refunds, and the owners of its order.
func (t payments) Get(_ context.Context, id int64) (*payment.Payment, core.Owners, error) {
	stored, found := t.payments[id]
	if !found {
		return nil, core.Owners{}, core.ErrNotFound
	}
	p := copyOf(stored)
	p.Refunds = t.refundsOf(id)
	return p, t.orders[p.OrderID].Owners(), nil
}

// Of returns the payments of an order with their refunds, the newest first.
func (t payments) Of(_ context.Context, orderID int64) ([]*payment.Payment, error) {
	return t.paymentsOf(orderID), nil
}

// Save inserts a payment, or updates what can change about it.
func (t payments) Save(_ context.Context, p *payment.Payment) error {
	for _, other := range t.payments {
		if err := conflict(p, other); err != nil {
			return err
		}
	}
	stored := copyOf(p)
	stored.UUID = uuidOf(p.ID)
	if !p.New {
		stored = copyOf(t.payments[p.ID])
		stored.Status, stored.Card.ExternalID, stored.Card.Failure = p.Status, p.Card.ExternalID, p.Card.Failure
		stored.Card.AskedAt = stamp(p.Card.AskedAt)
	}
	stored.New, stored.Refunds, stored.CreatedAt = false, nil, stamp(stored.CreatedAt)
	t.payments[p.ID] = stored
	return nil
}

// OfCharge returns the id of the payment that has a charge of the provider, or 0.
func (t payments) OfCharge(_ context.Context, externalID string) (int64, error) {
	for _, p := range t.payments {
		if p.Card.ExternalID == externalID {
			return p.ID, nil
		}
	}
	return 0, nil
}

// conflict repeats the unique indexes on payments: one payment of an operation, one
// live payment of an order, one payment of a charge.
func conflict(p, other *payment.Payment) error {
	live := func(p *payment.Payment) bool { return p.Status != payment.Failed }
	same := other.ID == p.ID && !p.New
	switch {
	case same:
		return nil
	case p.Card.ExternalID != "" && other.Card.ExternalID == p.Card.ExternalID:
		return duplicate("payment of one charge")
	case other.OrderID != p.OrderID:
		return nil
	case other.By.Key == p.By.Key:
		return duplicate("payment of one operation")
	case live(other) && live(p):
		return duplicate("live payment of one order")
	}
	return nil
}

func (t *tx) paymentsOf(orderID int64) []*payment.Payment {
	found := []*payment.Payment{}
	for _, stored := range t.payments {
		if stored.OrderID == orderID {
			p := copyOf(stored)
			p.Refunds = t.refundsOf(p.ID)
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *payment.Payment) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return found
}
