package webhook

import (
	"context"
	"errors"
	"math/rand/v2"

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
		e, err := tx.Endpoints.Lock(ctx, endpointID, core.GrantEverybody)
		if errors.Is(err, core.ErrNotFound) {
			return nil // deleted, with its deliveries
		}
		if err != nil {
			return err
		}
		before := *e
		for _, a := range attempts {
			if err := tx.recordAttempt(ctx, e, a); err != nil {
				return err
			}
		}
		if e.FailingSince.Equal(before.FailingSince) && e.DisabledAt.Equal(before.DisabledAt) {
			return nil
		}
		if err := tx.Endpoints.Save(ctx, e); err != nil || e.DisabledAt.Equal(before.DisabledAt) {
			return err
		}
		return tx.announceDisabled(ctx, e)
	})
}

// recordAttempt records one attempt. It leaves a delivery alone that has been decided, or
// attempted again, meanwhile.
func (tx Tx) recordAttempt(ctx context.Context, e *Endpoint, a Ended) error {
	e.note(a.Outcome, tx.Now)
	d, err := tx.Deliveries.Lock(ctx, e.ID, a.DeliveryID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil || d.Status != Pending || d.Attempts != a.Number {
		return err
	}
	d.note(a.Outcome, tx.Now, 2*rand.Float64()-1)
	return tx.Deliveries.Save(ctx, d)
}

// announceDisabled tells the owner and the operators that the service has disabled an
// endpoint.
func (tx Tx) announceDisabled(ctx context.Context, e *Endpoint) error {
	if err := tx.Outbox.Add(ctx, e.Event(EventDisabled)); err != nil {
		return err
	}
	return tx.AuditLog.Add(ctx, core.AuditEntry{
		Actor: string(core.System), Action: "DisableWebhookEndpoint", Resource: Resource(e.ID),
		Metadata: e.Owners().Metadata().With("reason", string(e.DisabledReason)),
	})
}
