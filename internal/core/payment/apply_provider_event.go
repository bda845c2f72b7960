package payment

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
)

// ProviderEvent is what a provider tells by itself: what became of a payment or of a refund.
// The id that does not apply is zero; both are for what is not ours.
type ProviderEvent struct {
	Message   Message
	PaymentID int64
	RefundID  int64
	Result    ChargeResult
}

// ApplyProviderEvent applies what a provider told, once for each message, in whatever order
// messages and our own answers come. What is not ours is passed over.
func (s *Service) ApplyProviderEvent(ctx context.Context, n ProviderEvent) error {
	var err error
	switch {
	case n.RefundID != 0:
		err = s.ApplyRefund(ctx, n.RefundID, n.Result, n.Message)
	case n.PaymentID != 0:
		err = s.ApplyCharge(ctx, n.PaymentID, n.Result, n.Message)
	}
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}
