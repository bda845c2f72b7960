package webhook

import (
	"context"

	"example.com/orders/internal/core"
)

// DeleteEndpoint deletes an endpoint with its deliveries. An attempt that has begun may
// still arrive. Refusals: not_found, forbidden_resource.
func (s *Service) DeleteEndpoint(ctx context.Context, actor core.Actor, id int64) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		e, err := tx.lock(ctx, actor, id)
		if err != nil {
			return err
		}
		if err := tx.Endpoints.Delete(ctx, id); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "DeleteWebhookEndpoint", Resource(id), e.Owners().Metadata())
	})
}
