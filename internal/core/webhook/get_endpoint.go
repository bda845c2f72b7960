package webhook

import (
	"context"

	"example.com/orders/internal/core"
)

// GetEndpoint returns an endpoint to its seller, or to an administrator (audited).
// Refusals: not_found, forbidden_resource.
func (s *Service) GetEndpoint(ctx context.Context, actor core.Actor, id int64) (*Endpoint, error) {
	var e *Endpoint
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var access core.Access
		var err error
		if e, access, err = tx.get(ctx, actor, id); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "GetWebhookEndpoint", Resource(id), e.Owners().Metadata())
	})
	return e, err
}
