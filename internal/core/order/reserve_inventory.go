package order

import (
	"context"

	"example.com/orders/internal/core"
)

// ReserveInventory is the command to extend the reservation of an order.
type ReserveInventory struct {
	OrderID int64
	Key     string
}

// ReserveInventory extends the reservation of an order that waits for payment. If the
// reservation has expired, the stock is reserved anew. It reports whether the same
// operation extended the reservation before; then it changes nothing (AUTH-19, second
// line of defence).
//
// Refusals: not_found, forbidden_resource, invalid_order_state, out_of_stock.
func (s *Service) ReserveInventory(ctx context.Context, actor core.Actor, cmd ReserveInventory) (*Order, bool, error) {
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var o *Order
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		reservation, err := tx.Reservations.Lock(ctx, ReservationQuery{OrderID: cmd.OrderID, By: by, Grant: reserveGrant(actor)})
		if err != nil {
			return core.RefusalOf(err, "order")
		}
		if o, repeated = reservation.Order, reservation.Repeated; repeated {
			return nil
		}
		if err := o.Reserve(reservation.Stock, tx.Now, s.ReservationTTL); err != nil {
			return err
		}
		if err := tx.Reservations.AddExtension(ctx, o, by); err != nil {
			return err
		}
		if err := tx.SaveOrder(ctx, o, reservation.Stock, EventReserved); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "ReserveInventory", Resource(o.ID), o.Owners().Metadata())
	})
	return o, repeated, err
}
