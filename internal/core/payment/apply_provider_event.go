package payment

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
)

// ProviderEvent is what a card provider sends on its own: the result of a charge or of
// a refund. The id that does not apply is zero. Both are zero when the event concerns
// nothing of ours.
type ProviderEvent struct {
	EventID   ProviderEventID
	PaymentID int64
	RefundID  int64
	Result    ChargeResult
}

// ProviderEventID identifies a provider event by its source and id. The zero value
// stands for the provider's answer to a request of ours, which needs no deduplication.
type ProviderEventID struct {
	Source string
	ID     string
}

// ApplyProviderEvent applies a provider event, once for each event id. Events and
// answers to our own requests may arrive in any order. Events about unknown payments
// are ignored.
func (s *Service) ApplyProviderEvent(ctx context.Context, event ProviderEvent) error {
	var err error
	switch {
	case event.RefundID != 0:
		err = s.ApplyRefund(ctx, event.RefundID, event.Result, event.EventID)
	case event.PaymentID != 0:
		err = s.ApplyCharge(ctx, event.PaymentID, event.Result, event.EventID)
	}
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// firstTime records the provider event that brought a result, and reports whether the
// result must be applied.
func (tx Tx) firstTime(ctx context.Context, from ProviderEventID) (bool, error) {
	if from == (ProviderEventID{}) {
		return true, nil
	}
	return tx.Inbox.FirstTime(ctx, from.Source, from.ID)
}
