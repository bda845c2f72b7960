package payment

import (
	"context"
	"fmt"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment/cards"
)

// applyRefund applies the result of a card refund. A refused refund leaves the amount
// refundable and needs an operator (R-DIST-COMP). A refusal is final: a successful
// refund can still be refused days later, when the customer's bank returns it, but
// never the reverse. A result that differs from the refund is not applied, but returned
// as a mismatch. When all money is back, an order that has not been shipped is cancelled.
func (tx Tx) applyRefund(ctx context.Context, op *OrderPayments, r *Refund, result cards.ChargeResult) (*Mismatch, error) {
	if result.Outcome == cards.ChargePending {
		return nil, nil
	}
	p := op.payment(r.PaymentID)
	if r.MadeAtProvider { // without our keys
		result.Terms = cards.Terms{Amount: result.Amount}
	}
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
	if err := tx.Outbox.Add(ctx, r.Event(refundEvents[r.Status])); err != nil || r.Status != RefundSucceeded {
		return nil, err
	}
	return nil, tx.cancelRefunded(ctx, op, p, r)
}

// providerActor is the actor for refunds that people make at the provider.
const providerActor = "provider"

// adoptRefund records a refund of our charge that was made without our key, in the
// provider's dashboard, and applies the result. Refunds of ours for which no money is left
// are refused, because the provider will refuse them. If the refund exceeds the payment, an
// earlier one may have failed meanwhile, and the job of the payment reads them all.
func (tx Tx) adoptRefund(ctx context.Context, result cards.ChargeResult) (*Mismatch, error) {
	op, p, err := tx.lockByCharge(ctx, result.Charge)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(p.Refunds, func(r *Refund) bool { return r.ExternalID == result.ExternalID })
	if i < 0 {
		if detail := p.adoptable(result); detail != "" {
			return &Mismatch{Resource: paymentResource(p.ID), Detail: detail}, tx.Intents.Settle(ctx, p.ID)
		}
		if err := tx.saveAdopted(ctx, op, p, result); err != nil {
			return nil, err
		}
		i = 0
	}
	mismatch, err := tx.applyRefund(ctx, op, p.Refunds[i], result)
	if err != nil || mismatch != nil {
		return mismatch, err
	}
	return nil, tx.refuseImpossible(ctx, op, p)
}

// adoptable describes why a refund of the provider cannot be one of the payment, or
// returns "".
func (p *Payment) adoptable(result cards.ChargeResult) string {
	switch total, err := p.returned().Add(result.Amount); {
	case !cards.IsPlainID(result.ExternalID):
		return "the provider's id of a refund is not 1–255 printable ASCII characters"
	case err != nil, result.Amount.IsZero():
		return fmt.Sprintf("%s refunded by %s at the provider", result.Amount, result.ExternalID)
	case result.Outcome != cards.ChargeRefused && p.Amount.Less(total):
		return fmt.Sprintf("%s paid, and %s refunded with %s of the provider", p.Amount, total, result.ExternalID)
	}
	return ""
}

// saveAdopted saves a new refund made at the provider, as the first of the payment.
func (tx Tx) saveAdopted(ctx context.Context, op *OrderPayments, p *Payment, result cards.ChargeResult) error {
	r := &Refund{
		PaymentID: p.ID, OrderID: p.OrderID, Amount: result.Amount, Status: RefundPending,
		Reason: result.Note, ExternalID: result.ExternalID, MadeAtProvider: true,
		By: core.Operation{Actor: providerActor}, CreatedAt: p.timeOfRefund(tx.Now), New: true,
	}
	if err := tx.saveRefund(ctx, op, r, nil); err != nil {
		return err
	}
	r.New = false
	p.Refunds = slices.Insert(p.Refunds, 0, r)
	return tx.AuditLog.Add(ctx, core.AuditEntry{
		Actor: providerActor, Action: "AdoptRefund", Resource: order.Resource(p.OrderID), Metadata: r.auditMetadata(op.Order),
	})
}

// refuseImpossible refuses each pending refund of ours that exceeds the rest of the charge
// at the provider: it cannot have made that refund, and never will.
func (tx Tx) refuseImpossible(ctx context.Context, op *OrderPayments, p *Payment) error {
	for _, r := range p.Refunds {
		if total, err := p.returned().Add(r.Amount); err != nil || r.MadeAtProvider || r.Status != RefundPending || !p.Amount.Less(total) {
			continue
		}
		refused := cards.ChargeResult{Terms: r.terms(p), Outcome: cards.ChargeRefused, Reason: "charge_already_refunded"}
		if _, err := tx.applyRefund(ctx, op, r, refused); err != nil {
			return err
		}
	}
	return nil
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
