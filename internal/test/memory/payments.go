package memory

import (
	"cmp"
	"context"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// orderPaymentsStore implements [payment.OrderPayments].
type orderPaymentsStore struct{ *tx }

// Lock gives an order with its stock and its money.
func (t orderPaymentsStore) Lock(_ context.Context, orderID int64) (*payment.OrderPayments, error) {
	o, err := t.order(orderID)
	if err != nil {
		return nil, err
	}
	return &payment.OrderPayments{
		Order: o, Stock: t.stockOf(o),
		Payments: t.paymentsOf(orderID), Balance: t.balance(o.CustomerID, o.Total.Currency()),
	}, nil
}

// LockByPayment gives the order of a payment.
func (t orderPaymentsStore) LockByPayment(ctx context.Context, paymentID int64) (*payment.OrderPayments, error) {
	p, ok := t.payments[paymentID]
	if !ok {
		return nil, core.ErrNotFound
	}
	return t.Lock(ctx, p.OrderID)
}

// LockByRefund gives the order of a refund.
func (t orderPaymentsStore) LockByRefund(ctx context.Context, refundID int64) (*payment.OrderPayments, error) {
	r, ok := t.refunds[refundID]
	if !ok {
		return nil, core.ErrNotFound
	}
	return t.Lock(ctx, r.OrderID)
}

// payments implements [payment.Payments].
type payments struct{ *tx }

// Of gives the payments of an order with their refunds.
func (t payments) Of(_ context.Context, orderID int64) ([]*payment.Payment, error) {
	return t.paymentsOf(orderID), nil
}

// Save keeps a new payment, unless it is a second one of its operation or a second
// live one.
func (t payments) Save(_ context.Context, p *payment.Payment) error {
	for _, other := range t.payments {
		switch {
		case other.OrderID != p.OrderID:
		case other.By.Key == p.By.Key:
			return duplicate("payment of one operation")
		case other.Status != payment.Failed && p.Status != payment.Failed:
			return duplicate("live payment of one order")
		}
	}
	kept := copyOf(p)
	kept.Refunds, kept.CreatedAt = nil, stamp(p.CreatedAt)
	t.payments[p.ID] = kept
	return nil
}

// Update keeps what became of a payment, unless another has its name at the provider.
func (t payments) Update(_ context.Context, p *payment.Payment) error {
	for _, other := range t.payments {
		if other.ID != p.ID && p.Card.ExternalID != "" && other.Card.ExternalID == p.Card.ExternalID {
			return duplicate("payment of one charge")
		}
	}
	kept := copyOf(t.payments[p.ID])
	kept.Status, kept.Card.ExternalID, kept.Card.Failure = p.Status, p.Card.ExternalID, p.Card.Failure
	t.payments[p.ID] = kept
	return nil
}

// UpdateRefund keeps what became of a refund.
func (t payments) UpdateRefund(_ context.Context, r *payment.Refund) error {
	kept := copyOf(t.refunds[r.ID])
	kept.Status, kept.ExternalID = r.Status, r.ExternalID
	t.refunds[r.ID] = kept
	return nil
}

// SaveRefund keeps a new refund, unless it is a second one of its operation. One
// without a key is of no operation.
func (t payments) SaveRefund(_ context.Context, r *payment.Refund) error {
	for _, other := range t.refunds {
		if r.By.Key != "" && other.By == r.By && other.PaymentID == r.PaymentID {
			return duplicate("refund of one operation")
		}
	}
	kept := copyOf(r)
	kept.CreatedAt = stamp(r.CreatedAt)
	t.refunds[r.ID] = kept
	return nil
}

func (t *tx) paymentsOf(orderID int64) []*payment.Payment {
	found := []*payment.Payment{}
	for _, kept := range t.payments {
		if kept.OrderID == orderID {
			p := copyOf(kept)
			p.Refunds = t.refundsOf(p.ID)
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *payment.Payment) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

func (t *tx) refundsOf(paymentID int64) []*payment.Refund {
	var found []*payment.Refund
	for _, r := range t.refunds {
		if r.PaymentID == paymentID {
			found = append(found, copyOf(r))
		}
	}
	slices.SortFunc(found, func(a, b *payment.Refund) int { return cmp.Compare(a.ID, b.ID) })
	return found
}
