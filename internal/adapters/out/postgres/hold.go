package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// holds implements [order.Holds].
type holds struct{ t *tx }

// Lock loads and locks in the global order: the order, then its stock by SKU.
func (s holds) Lock(ctx context.Context, orderID int64, by core.Operation) (order.Holding, error) {
	var rows []dbsqlc.LockOrderRow
	var stock []dbsqlc.Product
	var renewals []int64
	err := s.t.load(ctx,
		func(q *dbsqlc.Queries) (err error) { rows, err = q.LockOrder(ctx, orderID); return err },
		func(q *dbsqlc.Queries) (err error) { stock, err = q.LockStockOfOrder(ctx, orderID); return err },
		func(q *dbsqlc.Queries) (err error) {
			renewals, err = q.FindRenewal(ctx, dbsqlc.FindRenewalParams{
				OrderID: orderID, CreatedBy: by.Actor, IdempotencyKey: by.Key,
			})
			return err
		})
	if err != nil {
		return order.Holding{}, err
	}
	h := order.Holding{Renewed: len(renewals) > 0}
	if h.Order, err = oneOrder(linesOf(rows)); err != nil {
		return h, err
	}
	h.Stock, err = stockOf(stock)
	return h, err
}

// Lapsed gives orders whose hold is over by the clock of the database.
func (s holds) Lapsed(ctx context.Context, limit int) ([]int64, error) {
	var ids []int64
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		ids, err = q.LapsedOrders(ctx, int32(limit))
		return err
	})
	return ids, err
}

// SaveRenewal notes which operation renewed the hold of an order.
func (s holds) SaveRenewal(ctx context.Context, o *order.Order, by core.Operation) error {
	return s.t.writes().InsertRenewal(ctx, dbsqlc.InsertRenewalParams{
		OrderID: o.ID, CreatedBy: by.Actor, IdempotencyKey: by.Key, HeldUntil: o.HeldUntil, CreatedAt: s.t.now,
	})
}
