package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// orderPaymentsStore implements [payment.OrderPaymentsStore].
type orderPaymentsStore struct{ tx *session }

// Lock locks and loads in the global order: the order, its stock by SKU, the balance.
// Payments and refunds need no lock because they change only under the order lock.
func (s orderPaymentsStore) Lock(ctx context.Context, orderID int64, g core.Grant) (*payment.OrderPayments, error) {
	return ask(ctx, s.tx, orderLoad{orderID, g}, s.tx.batch.orderPayments)
}

// LockByPayment locks a payment's order.
func (s orderPaymentsStore) LockByPayment(ctx context.Context, paymentID int64) (*payment.OrderPayments, error) {
	return lockOrderOf(ctx, s, (*queries).OrderOfPayment, paymentID)
}

// LockByRefund locks a refund's order.
func (s orderPaymentsStore) LockByRefund(ctx context.Context, refundID int64) (*payment.OrderPayments, error) {
	return lockOrderOf(ctx, s, (*queries).OrderOfRefund, refundID)
}

// LockByPaymentUUID locks a payment's order by the payment UUID.
func (s orderPaymentsStore) LockByPaymentUUID(ctx context.Context, uuid string) (*payment.OrderPayments, error) {
	return lockOrderOf(ctx, s, (*queries).OrderOfPaymentUUID, uuid)
}

// LockByRefundUUID locks a refund's order by the refund UUID.
func (s orderPaymentsStore) LockByRefundUUID(ctx context.Context, uuid string) (*payment.OrderPayments, error) {
	return lockOrderOf(ctx, s, (*queries).OrderOfRefundUUID, uuid)
}

func lockOrderOf[P any](
	ctx context.Context, s orderPaymentsStore, query func(*queries, context.Context, P) ([]int64, error), by P,
) (*payment.OrderPayments, error) {
	orderID, err := firstID(ctx, s.tx, query, by)
	if err != nil {
		return nil, err
	}
	if orderID == 0 {
		return nil, core.ErrNotFound
	}
	return s.Lock(ctx, orderID, core.GrantEverybody)
}

// firstID returns the first id that a query finds, or 0.
func firstID[P any](
	ctx context.Context, s *session, query func(*queries, context.Context, P) ([]int64, error), by P,
) (int64, error) {
	ids, err := fetch.Find(ctx, s, query, by)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}
