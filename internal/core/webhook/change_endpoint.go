package webhook

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// rotationTime is how long the previous secret signs as well, so that receivers have
// time to change to the new one.
const rotationTime = 24 * time.Hour

// RotateSecret replaces the secret of an endpoint, and returns it as NewSecret. Refusals:
// not_found, forbidden_resource.
func (s *Service) RotateSecret(ctx context.Context, actor core.Actor, id int64) (*Endpoint, error) {
	secret := newSecret()
	return s.change(ctx, actor, id, "RotateWebhookSecret", func(ctx context.Context, tx Tx, e *Endpoint) error {
		e.NewSecret, e.PreviousUntil, e.UpdatedAt = secret, tx.Now.Add(rotationTime), tx.Now
		return tx.Endpoints.Save(ctx, e)
	})
}

// DeleteEndpoint deletes an endpoint with its deliveries. An attempt that has begun may
// still arrive. Refusals: not_found, forbidden_resource.
func (s *Service) DeleteEndpoint(ctx context.Context, actor core.Actor, id int64) error {
	_, err := s.change(ctx, actor, id, "DeleteWebhookEndpoint", func(ctx context.Context, tx Tx, _ *Endpoint) error {
		return tx.Endpoints.Delete(ctx, id)
	})
	return err
}

// TestEndpoint queues a test event for an endpoint, whatever event types it asks for.
// Refusals: not_found, forbidden_resource.
func (s *Service) TestEndpoint(ctx context.Context, actor core.Actor, id int64) (d *Delivery, err error) {
	_, err = s.change(ctx, actor, id, "TestWebhookEndpoint", func(ctx context.Context, tx Tx, e *Endpoint) error {
		d, err = tx.Deliveries.Add(ctx, id, e.Event(EventTest), tx.Now)
		return err
	})
	return d, err
}

// RetryDelivery is the command to attempt a delivery now, whatever its status.
type RetryDelivery struct {
	EndpointID int64
	DeliveryID int64
}

// RetryDelivery makes a delivery due, under the same event id. Its attempts start anew.
// Refusals: not_found, forbidden_resource.
func (s *Service) RetryDelivery(ctx context.Context, actor core.Actor, cmd RetryDelivery) (d *Delivery, err error) {
	_, err = s.change(ctx, actor, cmd.EndpointID, "RetryWebhookDelivery", func(ctx context.Context, tx Tx, _ *Endpoint) error {
		d, err = tx.Deliveries.Retry(ctx, cmd.EndpointID, cmd.DeliveryID, tx.Now)
		return core.RefusalOf(err, "delivery")
	})
	return d, err
}
