package payment

import (
	"context"
	"fmt"
)

// SettleRefund asks the provider to refund to the card of a payment and applies the
// result; see [Service.SettlePayment].
func (s *Service) SettleRefund(ctx context.Context, refundID int64, retry bool) error {
	p, r, err := s.loadRefund(ctx, refundID)
	if err != nil || r.Status != RefundPending {
		return err
	}
	result, err := s.Gateway.Refund(ctx, RefundRequest{
		Key: r.Key(), RefundID: r.ID, PaymentID: p.ID, Amount: r.Amount, ExternalID: p.Card.ExternalID, Retry: retry,
	})
	if err != nil {
		return fmt.Errorf("%w: refund %d: %w", ErrUndecided, r.ID, err)
	}
	if err := s.ApplyRefund(ctx, r.ID, result, ProviderEventID{}); err != nil {
		return err
	}
	if result.Outcome == ChargePending {
		return ErrUndecided
	}
	return nil
}

func (s *Service) loadRefund(ctx context.Context, refundID int64) (*Payment, *Refund, error) {
	var p *Payment
	var r *Refund
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByRefund(ctx, refundID)
		if err != nil {
			return err
		}
		p, r = op.refundByID(refundID)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("load refund %d: %w", refundID, err)
	}
	return p, r, nil
}
