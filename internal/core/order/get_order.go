package order

import (
	"context"

	"example.com/orders/internal/core"
)

// GetOrderByID returns an order to its customer or seller, or to an administrator
// (audited). Refusals: not_found, forbidden_resource.
func (s *Service) GetOrderByID(ctx context.Context, actor core.Actor, id int64) (*Order, error) {
	var o *Order
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if o, err = tx.Orders.Get(ctx, id); err != nil {
			return core.RefusalOf(err, "order")
		}
		access, err := ReadGrant(actor).Authorise(o.Owners())
		if err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "GetOrderById", Resource(id), o.Owners().Metadata())
	})
	return o, err
}
