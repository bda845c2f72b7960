package order

import (
	"context"
	"fmt"

	"example.com/orders/internal/core"
)

// ReserveInventory is the command to extend a reservation.
type ReserveInventory struct {
	OrderID int64
	Key     string
}

// ReserveInventory extends the reservation of an order that waits for payment, or
// reserves the stock again if the reservation has expired. If the same operation
// already extended it, it only returns the order and true (AUTH-19, second line of
// defence).
//
// Refusals: not_found, forbidden_resource, invalid_order_state, reservation_limit,
// out_of_stock.
func (s *Service) ReserveInventory(ctx context.Context, actor core.Actor, cmd ReserveInventory) (*Order, bool, error) {
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	grant := reserveGrant(actor)
	var o *Order
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		reservation, err := tx.Reservations.Lock(ctx, ReservationQuery{
			OrderID: cmd.OrderID, By: by, Grant: grant, CountExtensions: s.MaxExtensions,
		})
		if err != nil {
			return core.RefusalOf(err, "order")
		}
		if _, err := grant.Authorise(reservation.Order.Owners()); err != nil {
			return err
		}
		if o, repeated = reservation.Order, reservation.Repeated; repeated {
			return nil
		}
		if err := reservation.allowExtension(s.MaxExtensions); err != nil {
			return err
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

// allowExtension refuses extensions beyond limit (0 means no limit). An order that does
// not wait for payment is refused for the state, regardless of the number.
func (r Reservation) allowExtension(limit int) error {
	if limit > 0 && r.Extensions >= limit && r.Order.Status == PendingPayment {
		return core.Refuse(core.CodeReservationLimit, fmt.Sprintf(
			"the reservation has already been extended %d times; pay or cancel the order", r.Extensions))
	}
	return nil
}
