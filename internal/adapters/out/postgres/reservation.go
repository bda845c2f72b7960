package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// reservations implements [order.Reservations].
type reservations struct{ tx *session }

// Lock locks and loads in the global order: the order, then its stock by SKU.
// Extensions are counted under the order lock, so the count is exact.
func (s reservations) Lock(ctx context.Context, query order.ReservationQuery) (order.Reservation, error) {
	var prior []int64
	var extensions int64
	reads := []pgtx.Read{pgtx.Into(&prior, (*queries).FindExtension, dbsqlc.FindExtensionParams{
		OrderID: query.OrderID, CreatedBy: query.By.Actor, IdempotencyKey: query.By.Key,
	})}
	if query.CountExtensions > 0 {
		count := dbsqlc.CountExtensionsParams{OrderID: query.OrderID, AtMost: int32(query.CountExtensions)}
		reads = append(reads, pgtx.Into(&extensions, (*queries).CountExtensions, count))
	}
	o, stock, err := s.tx.lockOrder(ctx, query.OrderID, query.Grant, true, reads...)
	if err != nil {
		return order.Reservation{}, err
	}
	return order.Reservation{Order: o, Stock: stock, Repeated: len(prior) > 0, Extensions: int(extensions)}, nil
}

// Expired returns orders whose reservation has expired by the database clock.
func (s reservations) Expired(ctx context.Context, after order.Expiry, limit int) ([]order.Expiry, error) {
	return list(ctx, s.tx, (*queries).ExpiredReservations, dbsqlc.ExpiredReservationsParams{
		AfterTime: after.At, AfterID: after.OrderID, MaxOrders: int32(limit),
	}, func(row dbsqlc.ExpiredReservationsRow) (order.Expiry, error) {
		return order.Expiry{At: row.ReservedUntil, OrderID: row.ID}, nil
	})
}

// AddExtension records which operation extended a reservation.
func (s reservations) AddExtension(ctx context.Context, o *order.Order, by core.Operation) error {
	return s.tx.writes().InsertExtension(ctx, dbsqlc.InsertExtensionParams{
		OrderID: o.ID, CreatedBy: by.Actor, IdempotencyKey: by.Key, ReservedUntil: o.ReservedUntil, CreatedAt: s.tx.now,
	})
}
