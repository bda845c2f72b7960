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
	result, err := s.Gateway.Refund(ctx, RefundRequest{
		Key: r.Key(), RefundID: r.ID, PaymentID: p.ID, Amount: r.Amount, ExternalID: p.Card.ExternalID, Again: again,
	})
	if err != nil {
		return fmt.Errorf("%w: refund %d: %w", ErrUndecided, r.ID, err)
	}
	if err := s.ApplyRefund(ctx, r.ID, result, Message{}); err != nil {
		return err
	}
	if result.Outcome == ChargePending {
		return ErrUndecided
	}
	return nil
}

func (s *Service) lookAtRefund(ctx context.Context, refundID int64) (*Payment, *Refund, error) {
	var p *Payment
	var r *Refund
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.OrderPayments.LockByRefund(ctx, refundID)
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

// ApplyRefund notes what became of a refund to a card. A refusal leaves the money
// refundable; a person has to look (R-DIST-COMP). It is the last word: a refund that was
// made may come back days later, when the customer's bank cannot take it, and never the
// other way round.
func (s *Service) ApplyRefund(ctx context.Context, refundID int64, result ChargeResult, from Message) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		if first, err := tx.first(ctx, from); err != nil || !first {
			return err
		}
		c, err := tx.OrderPayments.LockByRefund(ctx, refundID)
		if err != nil {
			return err
		}
		_, r := c.findRefund(refundID)
		m, changed := r.decide(result, sellerAccount(c.Order.SellerID))
		if !changed {
			return nil
		}
		if m != nil {
			if err := tx.saveEntry(ctx, nil, m); err != nil {
				return err
			}
		}
		if err := tx.Payments.UpdateRefund(ctx, r); err != nil {
			return err
		}
		return tx.Journal.Publish(ctx, r.Event(string(r.Status)))
	})
}

// decide takes a provider's answer. The entry is nil when no money moved.
func (r *Refund) decide(result ChargeResult, seller Account) (m *LedgerEntry, changed bool) {
	switch {
	case r.Status == RefundPending && result.Outcome == ChargeSucceeded:
		r.Status, m = RefundSucceeded, r.entry(seller, ProviderAccount)
	case r.Status == RefundPending && result.Outcome == ChargeRefused:
		r.Status = RefundFailed
	case r.Status == RefundSucceeded && result.Outcome == ChargeRefused:
		r.Status, m = RefundFailed, r.entry(ProviderAccount, seller)
	default:
		return nil, false
	}
	r.ExternalID = result.ExternalID
	return m, true
}

func (r *Refund) entry(debit, credit Account) *LedgerEntry {
	return &LedgerEntry{Kind: EntryRefund, Debit: debit, Credit: credit, Amount: r.Amount, PaymentID: r.PaymentID, RefundID: r.ID}
}

// findRefund gives a refund of the order by its id, and its payment.
func (c *OrderPayments) findRefund(id int64) (*Payment, *Refund) {
	for _, p := range c.Payments {
		for _, r := range p.Refunds {
			if r.ID == id {
				return p, r
			}
		}
	}
	return nil, nil
}
