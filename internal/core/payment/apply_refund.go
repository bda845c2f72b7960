package payment

import (
	"context"

	"example.com/orders/internal/core/payment/cards"
)

// applyRefund applies the result of a card refund. A refused refund leaves the amount
// refundable and needs an operator (R-DIST-COMP). A refusal is final: a successful
// refund can still be refused days later, when the customer's bank returns it, but
// never the reverse. A result that differs from the refund is not applied, but returned
// as a mismatch.
func (tx Tx) applyRefund(ctx context.Context, op *OrderPayments, r *Refund, result cards.ChargeResult) (*Mismatch, error) {
	if result.Outcome == cards.ChargePending {
		return nil, nil
	}
	p := op.payment(r.PaymentID)
	if mismatch, err := tx.refundMismatch(ctx, p, r, result); mismatch != nil || err != nil {
		return mismatch, err
	}
	e, changed := r.decide(result, op.receiver(p))
	if !changed {
		return nil, nil
	}
	if e != nil {
		if err := tx.saveEntry(ctx, nil, e); err != nil {
			return nil, err
		}
	}
	if err := tx.Refunds.Save(ctx, r); err != nil {
		return nil, err
	}
	return nil, tx.Outbox.Add(ctx, r.Event(refundEvents[r.Status]))
}

// receiver returns the account that a card payment went to: that of the seller, unless
// the payment had failed.
func (op *OrderPayments) receiver(p *Payment) Account {
	if p.Status == Failed {
		return UnappliedAccount
	}
	return sellerAccount(op.Order.SellerID)
}

// decide applies a result to the refund and reports whether it changed. The entry is
// nil when no money moved. When a successful refund is refused later, the entry moves
// the money back: entries are appended, never deleted.
func (r *Refund) decide(result cards.ChargeResult, receiver Account) (e *LedgerEntry, changed bool) {
	switch {
	case r.Status == RefundPending && result.Outcome == cards.ChargeSucceeded:
		r.Status, e = RefundSucceeded, r.entry(receiver, ProviderAccount)
	case r.Status == RefundPending && result.Outcome == cards.ChargeRefused:
		r.Status = RefundFailed
	case r.Status == RefundSucceeded && result.Outcome == cards.ChargeRefused:
		r.Status, e = RefundFailed, r.entry(ProviderAccount, receiver)
	default:
		return nil, false
	}
	r.ExternalID, r.Failure = result.ExternalID, result.Code()
	return e, true
}

func (r *Refund) entry(debit, credit Account) *LedgerEntry {
	return &LedgerEntry{
		Kind: EntryRefund, Debit: debit, Credit: credit, Amount: r.Amount,
		PaymentID: r.PaymentID, RefundID: r.ID,
	}
}
