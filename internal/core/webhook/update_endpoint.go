package webhook

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// UpdateEndpoint is the command to change an endpoint. Nil members stay as they are.
type UpdateEndpoint struct {
	ID          int64
	URL         *string
	EventTypes  []string
	Description *string
	Ordered     *bool
	Disabled    *bool
}

// UpdateEndpoint changes an endpoint. Deliveries that wait go to the new URL. While an
// endpoint is disabled, all of them wait. Refusals: not_found, forbidden_resource,
// validation_failed, webhook_endpoint_exists.
func (s *Service) UpdateEndpoint(ctx context.Context, actor core.Actor, cmd UpdateEndpoint) (*Endpoint, error) {
	if err := s.check(cmd.URL, cmd.EventTypes); err != nil {
		return nil, err
	}
	return s.change(ctx, actor, cmd.ID, "UpdateWebhookEndpoint", func(ctx context.Context, tx Tx, e *Endpoint) error {
		e.apply(cmd, tx.Now)
		if err := tx.takeURL(ctx, e); err != nil {
			return err
		}
		return tx.Endpoints.Save(ctx, e)
	})
}

func (e *Endpoint) apply(cmd UpdateEndpoint, now time.Time) {
	set(&e.URL, cmd.URL)
	if cmd.EventTypes != nil {
		e.EventTypes = cmd.EventTypes
	}
	set(&e.Description, cmd.Description)
	set(&e.Ordered, cmd.Ordered)
	switch {
	case cmd.Disabled == nil:
	case *cmd.Disabled:
		e.disable(DisabledByRequest, now)
	default: // the failures before count no longer
		e.DisabledAt, e.DisabledReason, e.FailingSince = time.Time{}, "", time.Time{}
	}
	e.UpdatedAt = now
}

func set[T any](member, value *T) {
	if value != nil {
		*member = *value
	}
}
