package webhook

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
)

// Ended is an attempt with its outcome.
type Ended struct {
	Attempt
	Outcome
}

// RecordAttempts records attempts at one endpoint. An endpoint that wants no more events,
// or that has failed for long, is disabled.
func (s *Service) RecordAttempts(ctx context.Context, endpointID int64, attempts []Ended) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		e, err := tx.Endpoints.Lock(ctx, endpointID)
		if errors.Is(err, core.ErrNotFound) {
			return nil // deleted, with its deliveries
		}
		if err != nil {
			return err
		}
		failing, disabled := e.FailingSince, e.DisabledAt
		for _, a := range attempts {
			e.note(a.Outcome, tx.Now)
			if err := tx.Deliveries.Record(ctx, after(a.Attempt, a.Outcome, tx.Now)); err != nil {
				return err
			}
		}
		if e.FailingSince.Equal(failing) && e.DisabledAt.Equal(disabled) {
			return nil
		}
		if err := tx.Endpoints.Save(ctx, e); err != nil || e.DisabledAt.Equal(disabled) {
			return err
		}
		return tx.announceDisabled(ctx, e)
	})
}

// announceDisabled writes the event and the audit entry of an endpoint that the service has
// disabled.
func (tx Tx) announceDisabled(ctx context.Context, e *Endpoint) error {
	if err := tx.Outbox.Add(ctx, e.Event(EventDisabled)); err != nil {
		return err
	}
	return tx.AuditLog.Add(ctx, core.AuditEntry{
		Actor: string(core.System), Action: "DisableWebhookEndpoint", Resource: Resource(e.ID),
		Metadata: e.Owners().Metadata().With("reason", string(e.DisabledReason)),
	})
}
