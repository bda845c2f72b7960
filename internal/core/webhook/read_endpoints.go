package webhook

import (
	"context"

	"example.com/orders/internal/core"
)

// GetEndpoint returns an endpoint to its seller, or to an administrator (audited).
// Refusals: not_found, forbidden_resource.
func (s *Service) GetEndpoint(ctx context.Context, actor core.Actor, id int64) (e *Endpoint, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var access core.Access
		if e, access, err = tx.get(ctx, actor, id); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "GetWebhookEndpoint", Resource(id), e.Owners().Metadata())
	})
	return e, err
}

// ListEndpoints returns one page, newest first, and the position after it.
// Sellers see their endpoints, and administrators all endpoints, which is audited.
func (s *Service) ListEndpoints(
	ctx context.Context, actor core.Actor, page core.Page,
) (found []*Endpoint, next *core.Position, err error) {
	grant := endpointGrant(actor)
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		if found, err = tx.Endpoints.List(ctx, grant, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, grant.ListAccess(), "ListWebhookEndpoints", "webhook-endpoints", nil)
	})
	found, next = core.Paginate(found, page.Limit, func(e *Endpoint) core.Position {
		return core.Position{CreatedAt: e.CreatedAt, ID: e.ID}
	})
	return found, next, err
}

// ListDeliveries returns one page for an endpoint, newest first, and the
// position after it. Refusals: not_found, forbidden_resource.
func (s *Service) ListDeliveries(
	ctx context.Context, actor core.Actor, filter Filter, page core.Page,
) (found []*Delivery, next *core.Position, err error) {
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		e, access, err := tx.get(ctx, actor, filter.EndpointID)
		if err != nil {
			return err
		}
		if found, err = tx.Deliveries.List(ctx, filter, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "ListWebhookDeliveries", Resource(e.ID), e.Owners().Metadata())
	})
	found, next = core.Paginate(found, page.Limit, func(d *Delivery) core.Position {
		return core.Position{CreatedAt: d.CreatedAt, ID: d.ID}
	})
	return found, next, err
}
