package webhook

import (
	"context"

	"example.com/orders/internal/core"
)

// ListEndpoints returns a page of endpoints, newest first, and the position after it.
// Sellers see their endpoints, and administrators all endpoints, which is audited.
func (s *Service) ListEndpoints(
	ctx context.Context, actor core.Actor, page core.Page,
) ([]*Endpoint, *core.Position, error) {
	grant := endpointGrant(actor)
	var found []*Endpoint
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if found, err = tx.Endpoints.List(ctx, grant, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, grant.ListAccess(), "ListWebhookEndpoints", "webhook-endpoints", nil)
	})
	found, next := core.Paginate(found, page.Limit, func(e *Endpoint) core.Position {
		return core.Position{CreatedAt: e.CreatedAt, ID: e.ID}
	})
	return found, next, err
}
