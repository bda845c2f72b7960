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
	// DespiteDispute says that the seller delivers although the payment is disputed.
	DespiteDispute bool
}

// refuseDisputed refuses to begin the delivery of an order whose money the customer's bank
// takes back, unless the seller knows.
func (cmd UpdateOrderStatus) refuseDisputed(o *Order) error {
	if cmd.Status != Fulfilling || !o.Disputed || cmd.DespiteDispute {
		return nil
	}
	return core.Refuse(core.CodePaymentDisputed,
		"the customer's bank disputes the payment, or has taken the money back; send \"despite_dispute\": true to deliver nevertheless")
}

// UpdateOrderStatus changes the status of an order that belongs to the seller.
// Refusals: not_found, forbidden_resource, payment_disputed, invalid_order_state.
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
		if err := cmd.refuseDisputed(o); err != nil {
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
