package webhook

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// rotationTime is how long the previous secret signs as well, so that receivers have
// time to change to the new one.
const rotationTime = 24 * time.Hour

// RotateSecret gives an endpoint a new secret, and returns it as NewSecret. Refusals:
// not_found, forbidden_resource.
func (s *Service) RotateSecret(ctx context.Context, actor core.Actor, id int64) (*Endpoint, error) {
	secret := newSecret()
	var e *Endpoint
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if e, err = tx.lock(ctx, actor, id); err != nil {
			return err
		}
		e.NewSecret, e.PreviousUntil, e.UpdatedAt = secret, tx.Now.Add(rotationTime), tx.Now
		if err := tx.Endpoints.Save(ctx, e); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "RotateWebhookSecret", Resource(id), e.Owners().Metadata())
	})
	return e, err
}
