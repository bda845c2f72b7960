package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// GetPayment returns a payment with its refunds to the order's customer or seller, or
// to an administrator (audited). Refusals: not_found, forbidden_resource.
func (s *Service) GetPayment(ctx context.Context, actor core.Actor, id int64) (*Payment, error) {
	var found *Payment
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		p, owners, err := tx.Payments.Get(ctx, id)
		if err != nil {
			return core.RefusalOf(err, "payment")
		}
		access, err := order.ReadGrant(actor).Authorise(owners)
		if err != nil {
			return err
		}
		found = p
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "GetPayment", order.Resource(p.OrderID),
			owners.Metadata().WithID("payment_id", id))
	})
	return found, err
}
