package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// reservations implements [order.Reservations].
type reservations struct{ t *tx }

// Lock locks and loads in the global order: the order, then its stock by SKU. Extensions
// are counted under the lock of the order, so the count is exact.
func (s reservations) Lock(ctx context.Context, query order.ReservationQuery) (order.Reservation, error) {
	var exists bool
	var rows []dbsqlc.LockOrderRow
	var stock []dbsqlc.Product
	var prior []int64
	var extensions int64
	reads := []read{
		orderExists(ctx, query.OrderID, &exists),
		lockOrder(ctx, query.OrderID, query.Grant, &rows),
		lockStockOfOrder(ctx, query.OrderID, query.Grant, &stock),
		func(q *dbsqlc.Queries) (err error) {
			prior, err = q.FindExtension(ctx, dbsqlc.FindExtensionParams{
				OrderID: query.OrderID, CreatedBy: query.By.Actor, IdempotencyKey: query.By.Key,
			})
			return err
		},
	}
	if query.CountExtensions > 0 {
		reads = append(reads, func(q *dbsqlc.Queries) (err error) {
			extensions, err = q.CountExtensions(ctx, dbsqlc.CountExtensionsParams{
				OrderID: query.OrderID, AtMost: int32(query.CountExtensions),
			})
			return err
		})
	}
	if err := s.t.load(ctx, reads...); err != nil {
		return order.Reservation{}, err
	}
	r := order.Reservation{Repeated: len(prior) > 0, Extensions: int(extensions)}
	var err error
	if r.Order, err = lockedOrder(rows, exists); err != nil {
		return order.Reservation{}, err
	}
	r.Stock, err = stockOf(stock)
	return r, err
}

// Expired returns orders whose reservation has expired by the clock of the database.
func (s reservations) Expired(ctx context.Context, after order.Expiry, limit int) ([]order.Expiry, error) {
	var rows []dbsqlc.ExpiredReservationsRow
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = q.ExpiredReservations(ctx, dbsqlc.ExpiredReservationsParams{
			AfterTime: after.At, AfterID: after.OrderID, MaxOrders: int32(limit),
		})
		return err
	})
	expired := make([]order.Expiry, len(rows))
	for i, row := range rows {
		expired[i] = order.Expiry{At: row.ReservedUntil, OrderID: row.ID}
	}
	return expired, err
}

// AddExtension records which operation extended the reservation of an order.
func (s reservations) AddExtension(ctx context.Context, o *order.Order, by core.Operation) error {
	return s.t.writes().InsertExtension(ctx, dbsqlc.InsertExtensionParams{
		OrderID: o.ID, CreatedBy: by.Actor, IdempotencyKey: by.Key, ReservedUntil: o.ReservedUntil, CreatedAt: s.t.now,
	})
}
