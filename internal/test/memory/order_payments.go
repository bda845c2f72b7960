package memory

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// orderPaymentsStore implements [payment.OrderPaymentsStore].
type orderPaymentsStore struct{ *tx }

// Lock returns an order that the grant covers, with its stock and its money.
func (t orderPaymentsStore) Lock(_ context.Context, orderID int64, g core.Grant) (*payment.OrderPayments, error) {
	o, err := t.granted(orderID, g)
	if err != nil {
		return nil, err
	}
	return &payment.OrderPayments{
		Order: o, Stock: t.stockOf(o),
		Payments: t.paymentsOf(orderID), Balance: t.balance(o.CustomerID, o.Total.Currency()),
	}, nil
}

// LockByPayment returns the order of a payment.
func (t orderPaymentsStore) LockByPayment(ctx context.Context, paymentID int64) (*payment.OrderPayments, error) {
	p, ok := t.payments[paymentID]
	if !ok {
		return nil, core.ErrNotFound
	}
	return t.Lock(ctx, p.OrderID, core.GrantEverybody)
}

// LockByPaymentUUID returns the order of the payment with a UUID.
func (t orderPaymentsStore) LockByPaymentUUID(ctx context.Context, uuid string) (*payment.OrderPayments, error) {
	for _, p := range t.payments {
		if p.UUID == uuid {
			return t.Lock(ctx, p.OrderID, core.GrantEverybody)
		}
	}
	return nil, core.ErrNotFound
}

// LockByRefundUUID returns the order of the refund with a UUID.
func (t orderPaymentsStore) LockByRefundUUID(ctx context.Context, uuid string) (*payment.OrderPayments, error) {
	for _, r := range t.refunds {
		if r.UUID == uuid {
			return t.Lock(ctx, r.OrderID, core.GrantEverybody)
		}
	}
	return nil, core.ErrNotFound
}

// LockByRefund returns the order of a refund.
func (t orderPaymentsStore) LockByRefund(ctx context.Context, refundID int64) (*payment.OrderPayments, error) {
	r, ok := t.refunds[refundID]
	if !ok {
		return nil, core.ErrNotFound
	}
	return t.Lock(ctx, r.OrderID, core.GrantEverybody)
}
