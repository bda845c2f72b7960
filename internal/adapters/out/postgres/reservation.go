package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// reservations implements [order.Reservations].
type reservations struct{ t *tx }

// Lock loads and locks in the global order: the order, then its stock by SKU.
func (s reservations) Lock(ctx context.Context, orderID int64, by core.Operation) (order.Reservation, error) {
	var rows []dbsqlc.LockOrderRow
	var stock []dbsqlc.Product
	var extensions []int64
	err := s.t.load(ctx,
		func(q *dbsqlc.Queries) (err error) { rows, err = q.LockOrder(ctx, orderID); return err },
		func(q *dbsqlc.Queries) (err error) { stock, err = q.LockStockOfOrder(ctx, orderID); return err },
		func(q *dbsqlc.Queries) (err error) {
			extensions, err = q.FindExtension(ctx, dbsqlc.FindExtensionParams{
				OrderID: orderID, CreatedBy: by.Actor, IdempotencyKey: by.Key,
			})
			return err
		})
	if err != nil {
		return order.Reservation{}, err
	}
	h := order.Reservation{Repeated: len(extensions) > 0}
	if h.Order, err = oneOrder(linesOf(rows)); err != nil {
		return h, err
	}
	h.Stock, err = stockOf(stock)
	return h, err
}

// Expired returns orders whose reservation has expired by the clock of the database.
func (s reservations) Expired(ctx context.Context, limit int) ([]int64, error) {
	var ids []int64
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		ids, err = q.ExpiredReservations(ctx, int32(limit))
		return err
	})
	return ids, err
}

// AddExtension records which operation extended the reservation of an order.
func (s reservations) AddExtension(ctx context.Context, o *order.Order, by core.Operation) error {
	return s.t.writes().InsertExtension(ctx, dbsqlc.InsertExtensionParams{
		OrderID: o.ID, CreatedBy: by.Actor, IdempotencyKey: by.Key, ReservedUntil: o.ReservedUntil, CreatedAt: s.t.now,
	})
}
