package payment

import (
	"context"

	"example.com/orders/internal/core/order"
)

// applyCharge applies the result of a charge: the payment is captured, or it failed and
// the order waits for another payment. A decided payment does not change, whichever
// results arrive late or twice.
func (tx Tx) applyCharge(ctx context.Context, op *OrderPayments, p *Payment, result ChargeResult) error {
	if p.Status != Processing || result.Outcome == ChargePending {
		return nil
	}
	p.Card.ExternalID = result.ExternalID
	if result.Outcome == ChargeSucceeded {
		return tx.capture(ctx, op, p)
	}
	p.Card.Failure = result.Reason
	return tx.fail(ctx, op, p)
}

// capture marks the payment captured and the order paid, and adds the entry that moves
// the money from the provider to the seller.
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

// fail marks the payment failed; the order waits for another payment.
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
