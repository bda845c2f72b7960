package payment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/orders/internal/core/payment/cards"
)

// ErrUndecided means that the provider has not decided or did not answer. The caller
// must retry later.
var ErrUndecided = errors.New("the provider has not decided")

// askedAfter is the age from which a payment or a refund counts as asked about, even if
// a restored database has lost the mark. Until then, the provider still knows the key
// from the first call.
const askedAfter = time.Hour

// asked reports whether the provider may already have been asked.
func asked(askedAt, createdAt, now time.Time) bool {
	return !askedAt.IsZero() || now.Sub(createdAt) > askedAfter
}

// SettlePayment asks the provider to charge the card and applies the result. It holds
// no transaction during the call. It is safe to repeat: the provider recognises the
// key, and a decided payment does not change.
//
// The key alone is not enough, because the provider forgets it after a day. So the
// payment is marked before the first call, and any later call first looks for an
// earlier result, even if the job that made it is gone. For a decided payment, SettlePayment
// reads what else the provider has moved.
func (s *Service) SettlePayment(ctx context.Context, paymentID int64) error {
	p, retry, err := s.askForPayment(ctx, paymentID)
	if err != nil {
		return err
	}
	if p.Status != Processing {
		return s.adoptReports(ctx, p)
	}
	result, err := s.Gateway.Charge(ctx, cards.ChargeRequest{
		Terms: p.terms(), PaymentID: p.ID, Token: p.Card.Token, Retry: retry,
	})
	if err != nil {
		return fmt.Errorf("%w: charge payment %d: %w", ErrUndecided, p.ID, err)
	}
	var mismatch *Mismatch
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByPayment(ctx, paymentID)
		if err != nil {
			return err
		}
		mismatch, err = tx.applyCharge(ctx, op, op.payment(paymentID), result)
		return err
	})
	return undecided(result, mismatch, err)
}

// undecided returns [ErrUndecided] unless a provider decision has been applied. A
// mismatch is no decision.
func undecided(result cards.ChargeResult, mismatch *Mismatch, err error) error {
	switch {
	case err != nil:
		return err
	case mismatch != nil:
		return fmt.Errorf("%w: %s: %s", ErrUndecided, mismatch.Resource, mismatch.Detail)
	case result.Outcome == cards.ChargePending:
		return ErrUndecided
	}
	return nil
}

// askForPayment marks a payment as asked about, and reports whether it may already have
// been.
func (s *Service) askForPayment(ctx context.Context, paymentID int64) (p *Payment, before bool, err error) {
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByPayment(ctx, paymentID)
		if err != nil {
			return err
		}
		p = op.payment(paymentID)
		before = asked(p.Card.AskedAt, p.CreatedAt, tx.Now)
		if p.Status != Processing || !p.Card.AskedAt.IsZero() {
			return nil
		}
		p.Card.AskedAt = tx.Now
		return tx.Payments.Save(ctx, p)
	})
	if err != nil {
		return nil, false, fmt.Errorf("load payment %d: %w", paymentID, err)
	}
	return p, before, nil
}

func (p *Payment) terms() cards.Terms {
	return cards.Terms{Payment: p.Key(), OrderID: p.OrderID, Amount: p.Amount}
}
