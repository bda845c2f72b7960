package payment

import (
	"context"
	"errors"
	"fmt"
)

// ErrUndecided means that the provider has not decided or did not answer. The caller
// must try again later.
var ErrUndecided = errors.New("the provider has not decided")

// SettlePayment asks the provider to charge the card of a payment and applies the
// result. It holds no transaction during the call. It can be repeated safely: the
// provider recognises the key, and a decided payment does not change. Retry reports that
// this is not the first attempt.
func (s *Service) SettlePayment(ctx context.Context, paymentID int64, retry bool) error {
	p, err := s.loadPayment(ctx, paymentID)
	if err != nil || p.Status != Processing {
		return err
	}
	result, err := s.Gateway.Charge(ctx, ChargeRequest{
		Terms: p.terms(), PaymentID: p.ID, Token: p.Card.Token, Retry: retry,
	})
	if err != nil {
		return fmt.Errorf("%w: charge payment %d: %w", ErrUndecided, p.ID, err)
	}
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByPayment(ctx, paymentID)
		if err != nil {
			return err
		}
		return tx.applyCharge(ctx, op, op.payment(paymentID), result)
	})
	if err != nil {
		return err
	}
	if result.Outcome == ChargePending {
		return ErrUndecided
	}
	return nil
}

func (s *Service) loadPayment(ctx context.Context, paymentID int64) (*Payment, error) {
	var p *Payment
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByPayment(ctx, paymentID)
		if err != nil {
			return err
		}
		p = op.payment(paymentID)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("load payment %d: %w", paymentID, err)
	}
	return p, nil
}

func (p *Payment) terms() Terms {
	return Terms{Payment: p.Key(), OrderID: p.OrderID, Amount: p.Amount}
}
