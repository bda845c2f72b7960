package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// ListPayments returns an order's payments with their refunds, newest first, to its
// customer, its seller, or an administrator, whose read is audited. Refusals:
// not_found, forbidden_resource.
func (s *Service) ListPayments(ctx context.Context, actor core.Actor, orderID int64) ([]*Payment, error) {
	var payments []*Payment
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		o, err := tx.Orders.Get(ctx, orderID)
		if err != nil {
			return core.RefusalOf(err, "order")
		}
		access, err := order.ReadGrant(actor).Authorise(o.Owners())
		if err != nil {
			return err
		}
		if payments, err = tx.Payments.Of(ctx, orderID); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "ListPayments", order.Resource(orderID), o.Owners().Metadata())
	})
	return payments, err
}
