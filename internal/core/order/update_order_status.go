package order

import (
	"context"

	"example.com/orders/internal/core"
)

// UpdateOrderStatus is the command to report delivery progress.
type UpdateOrderStatus struct {
	OrderID int64
	// Status is Fulfilling, Shipped or Delivered.
	Status Status
}

// UpdateOrderStatus changes the status of an order that belongs to the seller.
// Refusals: not_found, forbidden_resource, invalid_order_state.
func (s *Service) UpdateOrderStatus(ctx context.Context, actor core.Actor, cmd UpdateOrderStatus) (*Order, error) {
	grant := deliverGrant(actor)
	var o *Order
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if o, err = tx.Orders.Lock(ctx, cmd.OrderID, grant); err != nil {
			return core.RefusalOf(err, "order")
		}
		if _, err := grant.Authorise(o.Owners()); err != nil {
			return err
		}
		previous := o.Status
		if err := o.Advance(cmd.Status, tx.Now); err != nil {
			return err
		}
		if err := tx.SaveOrder(ctx, o, nil, deliveryEvents[o.Status]); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "UpdateOrderStatus", Resource(o.ID),
			o.Owners().Metadata().With("previous_status", string(previous)).With("status", string(o.Status)))
	})
	return o, err
}
