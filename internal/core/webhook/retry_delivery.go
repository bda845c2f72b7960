package webhook

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// RetryDelivery is the command to attempt a delivery now, whatever its status.
type RetryDelivery struct {
	EndpointID int64
	DeliveryID int64
}

// RetryDelivery makes a delivery due, under the same event id. Its attempts start anew.
// Refusals: not_found, forbidden_resource.
func (s *Service) RetryDelivery(ctx context.Context, actor core.Actor, cmd RetryDelivery) (*Delivery, error) {
	var d *Delivery
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		e, _, err := tx.get(ctx, actor, cmd.EndpointID)
		if err != nil {
			return err
		}
		if d, err = tx.Deliveries.Lock(ctx, cmd.EndpointID, cmd.DeliveryID); err != nil {
			return core.RefusalOf(err, "delivery")
		}
		d.retry(tx.Now)
		if err := tx.Deliveries.Save(ctx, d); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "RetryWebhookDelivery", Resource(e.ID),
			e.Owners().Metadata().WithID("delivery_id", d.ID))
	})
	return d, err
}

func (d *Delivery) retry(now time.Time) {
	d.Status, d.Attempts, d.NextAttemptAt, d.FinishedAt, d.Last = Pending, 0, now, time.Time{}, Outcome{}
}
