package payment

import (
	"context"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment/cards"
)

// applyCharge applies a charge result: it captures the payment, or fails it so that the
// order waits for the next one. A decided payment does not change, even if results
// arrive late or twice; a late capture is given back. A result that differs from the
// payment is not applied, but returned as a mismatch.
func (tx Tx) applyCharge(ctx context.Context, op *OrderPayments, p *Payment, result cards.ChargeResult) (*Mismatch, error) {
	if result.Outcome == cards.ChargePending {
		return nil, nil
	}
	if mismatch, err := tx.chargeMismatch(ctx, p, result); mismatch != nil || err != nil {
		return mismatch, err
	}
	if p.Status == Failed && result.Outcome == cards.ChargeSucceeded {
		return nil, tx.returnLateCapture(ctx, op, p, result.ExternalID)
	}
	if p.Status != Processing {
		return nil, nil
	}
	p.Card.ExternalID = result.ExternalID
	if result.Outcome == cards.ChargeSucceeded {
		return nil, tx.capture(ctx, op, p)
	}
	p.Card.Failure = result.Code()
	return nil, tx.fail(ctx, op, p)
}

// capture marks the payment captured and the order paid, and appends the ledger entry
// from the provider to the seller.
func (tx Tx) capture(ctx context.Context, op *OrderPayments, p *Payment) error {
	p.Status = Captured
	if err := op.Order.Pay(op.Stock, tx.Now); err != nil {
		return err
	}
	if err := tx.SaveOrder(ctx, op.Order, op.Stock, order.EventPaid); err != nil {
		return err
	}
	if err := tx.Payments.Save(ctx, p); err != nil {
		return err
	}
	e := &LedgerEntry{
		Kind: EntryPayment, Debit: ProviderAccount, Credit: sellerAccount(op.Order.SellerID),
		Amount: p.Amount, PaymentID: p.ID,
	}
	if err := tx.saveEntry(ctx, nil, e); err != nil {
		return err
	}
	return tx.Outbox.Add(ctx, p.Event(EventPaymentCaptured))
}

// fail marks the payment failed; the order waits for the next one.
func (tx Tx) fail(ctx context.Context, op *OrderPayments, p *Payment) error {
	p.Status = Failed
	if err := op.Order.PaymentFailed(tx.Now); err != nil {
		return err
	}
	if err := tx.SaveOrder(ctx, op.Order, nil, order.EventPaymentFailed); err != nil {
		return err
	}
	if err := tx.Payments.Save(ctx, p); err != nil {
		return err
	}
	return tx.Outbox.Add(ctx, p.Event(EventPaymentFailed))
}
