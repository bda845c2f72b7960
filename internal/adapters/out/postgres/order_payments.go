package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// orderPaymentsStore implements [payment.OrderPaymentsStore].
type orderPaymentsStore struct{ t *tx }

// orderPaymentsRows are the answers to one load of an order and its money.
type orderPaymentsRows struct {
	exists   bool
	order    []dbsqlc.LockOrderRow
	stock    []dbsqlc.Product
	payments []dbsqlc.Payment
	refunds  []dbsqlc.Refund
	balances []dbsqlc.Balance
}

// Lock locks and loads in the global order: the order, its stock by SKU, the balance.
// Payments and refunds need no lock of their own: they change only under the lock of
// the order.
func (s orderPaymentsStore) Lock(ctx context.Context, orderID int64, g core.Grant) (*payment.OrderPayments, error) {
	if s.t.member != nil {
		return ask(s.t.member, orderWant{orderID, g}, s.t.group.orderPayments)
	}
	var rows orderPaymentsRows
	err := s.t.load(ctx,
		orderExists(ctx, orderID, &rows.exists),
		lockOrder(ctx, orderID, g, &rows.order),
		lockStockOfOrder(ctx, orderID, g, &rows.stock),
		func(q *dbsqlc.Queries) (err error) { rows.payments, err = q.PaymentsOfOrder(ctx, orderID); return err },
		func(q *dbsqlc.Queries) (err error) { rows.refunds, err = q.RefundsOfOrder(ctx, orderID); return err },
		lockBalanceOfOrder(ctx, orderID, g, &rows.balances),
	)
	if err != nil {
		return nil, err
	}
	return rows.orderPayments()
}

// LockByPayment locks the order of a payment.
func (s orderPaymentsStore) LockByPayment(ctx context.Context, paymentID int64) (*payment.OrderPayments, error) {
	return s.lockOrderOf(ctx, func(q *dbsqlc.Queries) ([]int64, error) { return q.OrderOfPayment(ctx, paymentID) })
}

// LockByRefund locks the order of a refund.
func (s orderPaymentsStore) LockByRefund(ctx context.Context, refundID int64) (*payment.OrderPayments, error) {
	return s.lockOrderOf(ctx, func(q *dbsqlc.Queries) ([]int64, error) { return q.OrderOfRefund(ctx, refundID) })
}

// LockByPaymentUUID locks the order of the payment with a UUID.
func (s orderPaymentsStore) LockByPaymentUUID(ctx context.Context, uuid string) (*payment.OrderPayments, error) {
	return s.lockOrderOf(ctx, func(q *dbsqlc.Queries) ([]int64, error) { return q.OrderOfPaymentUUID(ctx, uuid) })
}

// LockByRefundUUID locks the order of the refund with a UUID.
func (s orderPaymentsStore) LockByRefundUUID(ctx context.Context, uuid string) (*payment.OrderPayments, error) {
	return s.lockOrderOf(ctx, func(q *dbsqlc.Queries) ([]int64, error) { return q.OrderOfRefundUUID(ctx, uuid) })
}

func (s orderPaymentsStore) lockOrderOf(ctx context.Context, find func(*dbsqlc.Queries) ([]int64, error)) (*payment.OrderPayments, error) {
	orderID, err := s.t.firstID(ctx, find)
	if err != nil {
		return nil, err
	}
	if orderID == 0 {
		return nil, core.ErrNotFound
	}
	return s.Lock(ctx, orderID, core.GrantEverybody)
}

// firstID returns the first id that a query finds, or 0.
func (t *tx) firstID(ctx context.Context, find func(*dbsqlc.Queries) ([]int64, error)) (int64, error) {
	var ids []int64
	err := t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		ids, err = find(q)
		return err
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

func (rows orderPaymentsRows) orderPayments() (*payment.OrderPayments, error) {
	o, err := lockedOrder(rows.order, rows.exists)
	if err != nil {
		return nil, err
	}
	op := &payment.OrderPayments{Order: o}
	if op.Stock, err = stockOf(rows.stock); err != nil {
		return nil, err
	}
	if op.Payments, err = paymentsOf(rows.payments, rows.refunds); err != nil {
		return nil, err
	}
	op.Balance, err = balanceOf(rows.balances, o.CustomerID, o.Total.Currency())
	return op, err
}
