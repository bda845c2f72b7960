package memory

import (
	"cmp"
	"context"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// refunds implements [payment.Refunds].
type refunds struct{ *tx }

// Get returns a refund, and the owners of its order.
func (t refunds) Get(_ context.Context, id int64) (*payment.Refund, core.Owners, error) {
	r, found := t.refunds[id]
	if !found {
		return nil, core.Owners{}, core.ErrNotFound
	}
	return copyOf(r), t.orders[r.OrderID].Owners(), nil
}

// Save inserts a refund, or updates what can change about it. An operation makes one
// refund of a payment; a refund without a key belongs to no operation.
func (t refunds) Save(_ context.Context, r *payment.Refund) error {
	for _, other := range t.refunds {
		if r.New && r.By.Key != "" && other.By == r.By && other.PaymentID == r.PaymentID {
			return duplicate("refund of one operation")
		}
	}
	stored := copyOf(r)
	stored.UUID = uuidOf(r.ID)
	if !r.New {
		stored = copyOf(t.refunds[r.ID])
		stored.Status, stored.ExternalID, stored.AskedAt = r.Status, r.ExternalID, stamp(r.AskedAt)
	}
	stored.New, stored.CreatedAt = false, stamp(stored.CreatedAt)
	t.refunds[r.ID] = stored
	return nil
}

// OfExternal returns the id of the refund that has an id at the provider, or 0.
func (t refunds) OfExternal(_ context.Context, externalID string) (int64, error) {
	for _, r := range t.refunds {
		if r.ExternalID == externalID {
			return r.ID, nil
		}
	}
	return 0, nil
}

func (t *tx) refundsOf(paymentID int64) []*payment.Refund {
	var found []*payment.Refund
	for _, r := range t.refunds {
		if r.PaymentID == paymentID {
			found = append(found, copyOf(r))
		}
	}
	slices.SortFunc(found, func(a, b *payment.Refund) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return found
}
