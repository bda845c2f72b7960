package payment

import (
	"context"
	"fmt"
)

// SettleRefund asks the provider to give money of a card payment back, and applies what
// it says; see [Service.SettlePayment].
func (s *Service) SettleRefund(ctx context.Context, refundID int64, again bool) error {
	p, r, err := s.lookAtRefund(ctx, refundID)
	if err != nil || r.Status != RefundPending {
		return err
	}
	result, err := s.Gateway.Refund(ctx, CardRefund{
		Key: r.Key(), RefundID: r.ID, PaymentID: p.ID, Amount: r.Amount, ExternalID: p.Card.ExternalID, Again: again,
	})
	if err != nil {
		return fmt.Errorf("%w: refund %d: %w", ErrUndecided, r.ID, err)
	}
	if err := s.ApplyRefund(ctx, r.ID, result, Message{}); err != nil {
		return err
	}
	if result.Outcome == CardPending {
		return ErrUndecided
	}
	return nil
}

func (s *Service) lookAtRefund(ctx context.Context, refundID int64) (*Payment, *Refund, error) {
	var p *Payment
	var r *Refund
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Checkouts.LockByRefund(ctx, refundID)
		if err != nil {
			return err
		}
		p, r = c.findRefund(refundID)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look at refund %d: %w", refundID, err)
	}
	return p, r, nil
}

// ApplyRefund notes what became of a refund to a card. One that is decided stays as it
// is. A refusal leaves the money refundable; a person has to look (R-DIST-COMP).
func (s *Service) ApplyRefund(ctx context.Context, refundID int64, result CardResult, from Message) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		if first, err := tx.first(ctx, from); err != nil || !first {
			return err
		}
		c, err := tx.Checkouts.LockByRefund(ctx, refundID)
		if err != nil {
			return err
		}
		_, r := c.findRefund(refundID)
		if r.Status != RefundPending || result.Outcome == CardPending {
			return nil
		}
		r.ExternalID, r.Status = result.ExternalID, RefundFailed
		if result.Outcome == CardDone {
			r.Status = RefundSucceeded
			m := &Movement{
				Kind: Repay, Debit: sellerAccount(c.Order.SellerID), Credit: Provider, Amount: r.Amount,
				PaymentID: r.PaymentID, RefundID: r.ID,
			}
			if err := tx.saveMovement(ctx, nil, m); err != nil {
				return err
			}
		}
		if err := tx.Payments.UpdateRefund(ctx, r); err != nil {
			return err
		}
		return tx.Journal.Publish(ctx, r.Event(string(r.Status)))
	})
}

// findRefund gives a refund of the order by its id, and its payment.
func (c *Checkout) findRefund(id int64) (*Payment, *Refund) {
	for _, p := range c.Payments {
		for _, r := range p.Refunds {
			if r.ID == id {
				return p, r
			}
		}
	}
	return nil, nil
}
