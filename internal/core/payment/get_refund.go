package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// GetRefund returns a refund to the order's customer or seller, or to an administrator
// (audited). Refusals: not_found, forbidden_resource.
func (s *Service) GetRefund(ctx context.Context, actor core.Actor, id int64) (*Refund, error) {
	var found *Refund
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		r, owners, err := tx.Refunds.Get(ctx, id)
		if err != nil {
			return core.RefusalOf(err, "refund")
		}
		access, err := order.ReadGrant(actor).Authorise(owners)
		if err != nil {
			return err
		}
		found = r
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "GetRefund", order.Resource(r.OrderID),
			owners.Metadata().WithID("payment_id", r.PaymentID).WithID("refund_id", id))
	})
	return found, err
}
