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
		Terms: r.terms(p), PaymentID: p.ID, RefundID: r.ID, ExternalID: p.Card.ExternalID, Retry: retry,
	})
	if err != nil {
		return fmt.Errorf("%w: refund %d: %w", ErrUndecided, r.ID, err)
	}
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByRefund(ctx, refundID)
		if err != nil {
			return err
		}
		_, r := op.refundByID(refundID)
		return tx.applyRefund(ctx, op, r, result)
	})
	if err != nil {
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

// terms returns the terms of a refund of p.
func (r *Refund) terms(p *Payment) Terms {
	return Terms{Payment: p.Key(), Refund: r.Key(), OrderID: r.OrderID, Amount: r.Amount}
}
