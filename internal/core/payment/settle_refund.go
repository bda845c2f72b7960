package payment

import (
	"context"
	"errors"
	"fmt"

	"example.com/orders/internal/core/payment/cards"
)

// SettleRefund asks the provider to refund to the card and applies the result; see
// [Service.SettlePayment]. A refusal says that the provider may have moved other money.
func (s *Service) SettleRefund(ctx context.Context, refundID int64) error {
	p, r, retry, err := s.askForRefund(ctx, refundID)
	if err != nil || r.Status != RefundPending {
		return err
	}
	result, err := s.Gateway.Refund(ctx, cards.RefundRequest{
		Terms: r.terms(p), PaymentID: p.ID, RefundID: r.ID, ExternalID: p.Card.ExternalID, MadeID: r.ExternalID, Retry: retry,
	})
	if errors.Is(err, cards.ErrReturnedElsewhere) || result.Outcome == cards.ChargeRefused {
		err = errors.Join(err, s.adoptReports(ctx, p))
	}
	if err != nil {
		return fmt.Errorf("%w: refund %d: %w", ErrUndecided, r.ID, err)
	}
	var mismatch *Mismatch
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByRefund(ctx, refundID)
		if err != nil {
			return err
		}
		_, r := op.refundByID(refundID)
		mismatch, err = tx.applyRefund(ctx, op, r, result)
		return err
	})
	return undecided(result, mismatch, err)
}

// askForRefund marks a refund of ours as asked about, and reports whether it may already have
// been.
func (s *Service) askForRefund(ctx context.Context, refundID int64) (p *Payment, r *Refund, before bool, err error) {
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByRefund(ctx, refundID)
		if err != nil {
			return err
		}
		p, r = op.refundByID(refundID)
		before = asked(r.AskedAt, r.CreatedAt, tx.Now)
		if r.Status != RefundPending || r.MadeAtProvider || !r.AskedAt.IsZero() {
			return nil
		}
		r.AskedAt = tx.Now
		return tx.Refunds.Save(ctx, r)
	})
	if err != nil {
		return nil, nil, false, fmt.Errorf("load refund %d: %w", refundID, err)
	}
	return p, r, before, nil
}

// adoptReports applies what the provider has moved on a payment's charge without this
// service, so that the next attempt decides with it.
func (s *Service) adoptReports(ctx context.Context, p *Payment) error {
	if p.Card.ExternalID == "" {
		return nil
	}
	reports, err := s.Gateway.Reports(ctx, cards.ReportQuery{Charge: p.Card.ExternalID})
	if err != nil {
		return err
	}
	_, err = s.ApplyReports(ctx, reports)
	return err
}

// terms are those that the provider stores. It knows no key for a refund made there.
func (r *Refund) terms(p *Payment) cards.Terms {
	if r.MadeAtProvider {
		return cards.Terms{Amount: r.Amount}
	}
	return cards.Terms{Payment: p.Key(), Refund: r.Key(), OrderID: r.OrderID, Amount: r.Amount}
}
