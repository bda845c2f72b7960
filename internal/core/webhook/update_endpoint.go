package webhook

import (
	"context"
	"slices"
	"strings"
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
	var e *Endpoint
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if e, err = tx.lock(ctx, actor, cmd.ID); err != nil {
			return err
		}
		before := *e
		e.apply(cmd, tx.Now)
		if err := tx.refuseSecond(ctx, &before, e); err != nil {
			return err
		}
		if err := tx.Endpoints.Save(ctx, e); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "UpdateWebhookEndpoint", Resource(e.ID),
			e.Owners().Metadata().With("changed", e.changes(&before)))
	})
	return e, err
}

// apply changes the members that the command names.
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
		e.Disable(DisabledByRequest, now)
	default:
		e.Enable()
	}
	e.UpdatedAt = now
}

func set[T any](member, value *T) {
	if value != nil {
		*member = *value
	}
}

// refuseSecond refuses a URL that another endpoint of the owner has.
func (tx Tx) refuseSecond(ctx context.Context, before, e *Endpoint) error {
	if before.URL == e.URL {
		return nil
	}
	existing, err := tx.Owners.Lock(ctx, e.Owner)
	if err != nil {
		return err
	}
	return e.refuseSecond(existing)
}

// changes returns the names of the members that differ from an earlier version. A URL
// may contain a secret, and a description anything (AUTH-16).
func (e *Endpoint) changes(before *Endpoint) string {
	var names []string
	for _, member := range []struct {
		name string
		same bool
	}{
		{"url", e.URL == before.URL}, {"event_types", slices.Equal(e.EventTypes, before.EventTypes)},
		{"description", e.Description == before.Description}, {"ordered", e.Ordered == before.Ordered},
		{"disabled", e.DisabledAt.Equal(before.DisabledAt)},
	} {
		if !member.same {
			names = append(names, member.name)
		}
	}
	return strings.Join(names, " ")
}
