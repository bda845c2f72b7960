package webhook

import (
	"context"

	"example.com/orders/internal/core"
)

// TestEndpoint queues a test event for an endpoint, whatever event types it asks for.
// Refusals: not_found, forbidden_resource.
func (s *Service) TestEndpoint(ctx context.Context, actor core.Actor, id int64) (*Delivery, error) {
	var d *Delivery
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		e, _, err := tx.get(ctx, actor, id)
		if err != nil {
			return err
		}
		d = &Delivery{EndpointID: id, EventType: EventTest, Status: Pending, NextAttemptAt: tx.Now, CreatedAt: tx.Now}
		if err := tx.Deliveries.Add(ctx, e.Event(EventTest), d); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "TestWebhookEndpoint", Resource(id), e.Owners().Metadata())
	})
	return d, err
}
