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
	op, p, err := s.loadPayment(ctx, paymentID)
	if err != nil || p.Status != Processing {
		return err
	}
	result, err := s.Gateway.Charge(ctx, ChargeRequest{
		Key: p.Key(), PaymentID: p.ID, OrderID: op.Order.ID, Amount: p.Amount, Token: p.Card.Token, Retry: retry,
	})
	if err != nil {
		return fmt.Errorf("%w: charge payment %d: %w", ErrUndecided, p.ID, err)
	}
	if err := s.ApplyCharge(ctx, p.ID, result, ProviderEventID{}); err != nil {
		return err
	}
	if result.Outcome == ChargePending {
		return ErrUndecided
	}
	return nil
}

func (s *Service) loadPayment(ctx context.Context, paymentID int64) (*OrderPayments, *Payment, error) {
	var op *OrderPayments
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		op, err = tx.OrderPayments.LockByPayment(ctx, paymentID)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("load payment %d: %w", paymentID, err)
	}
	return op, op.payment(paymentID), nil
}
