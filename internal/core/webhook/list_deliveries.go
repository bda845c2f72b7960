package webhook

import (
	"context"

	"example.com/orders/internal/core"
)

// ListDeliveries returns a page of an endpoint's deliveries, newest first, and the
// position after it. Refusals: not_found, forbidden_resource.
func (s *Service) ListDeliveries(
	ctx context.Context, actor core.Actor, filter Filter, page core.Page,
) ([]*Delivery, *core.Position, error) {
	var found []*Delivery
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		e, access, err := tx.get(ctx, actor, filter.EndpointID)
		if err != nil {
			return err
		}
		if found, err = tx.Deliveries.List(ctx, filter, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "ListWebhookDeliveries", Resource(e.ID),
			e.Owners().Metadata().With("status", string(filter.Status)))
	})
	found, next := core.Paginate(found, page.Limit, func(d *Delivery) core.Position {
		return core.Position{CreatedAt: d.CreatedAt, ID: d.ID}
	})
	return found, next, err
}
