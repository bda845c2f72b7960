package payment

import (
	"context"
	"errors"
	"fmt"
)

// ErrUndecided is the answer of a settlement that has to be tried again: the provider
// has not decided, or did not answer.
var ErrUndecided = errors.New("the provider has not decided")

// SettlePayment asks the provider for the money of a card payment and applies what it
// says. It holds no transaction while it asks. Doing it again does no harm: the
// provider knows the key, and a payment that is decided stays so. Again tells that this
// is not the first try.
func (s *Service) SettlePayment(ctx context.Context, paymentID int64, again bool) error {
	c, p, err := s.lookAtPayment(ctx, paymentID)
	if err != nil || p.Status != Processing {
		return err
	}
	result, err := s.Gateway.Charge(ctx, ChargeRequest{
		Key: p.Key(), PaymentID: p.ID, OrderID: c.Order.ID, Amount: p.Amount, Token: p.Card.Token, Again: again,
	})
	if err != nil {
		return fmt.Errorf("%w: charge payment %d: %w", ErrUndecided, p.ID, err)
	}
	if err := s.ApplyCharge(ctx, p.ID, result, Message{}); err != nil {
		return err
	}
	if result.Outcome == ChargePending {
		return ErrUndecided
	}
	return nil
}

func (s *Service) lookAtPayment(ctx context.Context, paymentID int64) (*OrderPayments, *Payment, error) {
	var c *OrderPayments
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		c, err = tx.OrderPayments.LockByPayment(ctx, paymentID)
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("look at payment %d: %w", paymentID, err)
	}
	return c, c.payment(paymentID), nil
}

// Message is a message of the provider that told a result, done once by its id. The zero
// Message is an answer to our own question.
type Message struct {
	Source string
	ID     string
}

// ApplyCharge notes what became of a card payment: captured, or refused and the order
// waits for another payment. A payment that is decided stays as it is, whatever comes
// late or twice.
func (s *Service) ApplyCharge(ctx context.Context, paymentID int64, result ChargeResult, from Message) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		if first, err := tx.first(ctx, from); err != nil || !first {
			return err
		}
		c, err := tx.OrderPayments.LockByPayment(ctx, paymentID)
		if err != nil {
			return err
		}
		p := c.payment(paymentID)
		if p.Status != Processing || result.Outcome == ChargePending {
			return nil
		}
		p.Card.ExternalID = result.ExternalID
		if result.Outcome == ChargeSucceeded {
			return tx.capture(ctx, c, p)
		}
		p.Card.Failure = result.Reason
		return tx.fail(ctx, c, p)
	})
}

// first notes the message, if the result came by one.
func (tx Tx) first(ctx context.Context, from Message) (bool, error) {
	if from == (Message{}) {
		return true, nil
	}
	return tx.Inbox.FirstTime(ctx, from.Source, from.ID)
}

// capture books the money of a card and sells the goods.
func (tx Tx) capture(ctx context.Context, c *OrderPayments, p *Payment) error {
	p.Status = Captured
	if err := c.Order.Pay(c.Stock, tx.Now); err != nil {
		return err
	}
	if err := tx.SaveOrder(ctx, c.Order, c.Stock, "paid"); err != nil {
		return err
	}
	if err := tx.Payments.Update(ctx, p); err != nil {
		return err
	}
	m := &LedgerEntry{Kind: EntryPayment, Debit: ProviderAccount, Credit: sellerAccount(c.Order.SellerID), Amount: p.Amount, PaymentID: p.ID}
	if err := tx.saveEntry(ctx, nil, m); err != nil {
		return err
	}
	return tx.Journal.Publish(ctx, p.Event("captured"))
}

// fail lets the order wait for another payment.
func (tx Tx) fail(ctx context.Context, c *OrderPayments, p *Payment) error {
	p.Status = Failed
	if err := c.Order.PaymentFailed(tx.Now); err != nil {
		return err
	}
	if err := tx.SaveOrder(ctx, c.Order, nil, "payment_failed"); err != nil {
		return err
	}
	if err := tx.Payments.Update(ctx, p); err != nil {
		return err
	}
	return tx.Journal.Publish(ctx, p.Event("failed"))
}

// payment gives a payment of the order by its id.
func (c *OrderPayments) payment(id int64) *Payment {
	for _, p := range c.Payments {
		if p.ID == id {
			return p
		}
	}
	return nil
}
