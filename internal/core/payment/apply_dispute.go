package payment

import (
	"context"
	"fmt"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment/cards"
)

// applyDispute records a dispute of our charge, and the money that it moved, each once.
// Reports may arrive in any order and repeatedly.
func (tx Tx) applyDispute(ctx context.Context, report cards.DisputeReport) (*Mismatch, error) {
	_, p, err := tx.lockByCharge(ctx, report.Charge)
	if err != nil {
		return nil, err
	}
	if !cards.IsPlainID(report.ID) || !report.Status.IsKnown() || report.Amount.IsZero() {
		return &Mismatch{Resource: paymentResource(p.ID), Detail: fmt.Sprintf(
			"the provider reports the dispute %.80q of %s as %.80q", report.ID, report.Amount, report.Status)}, nil
	}
	moved := false
	for _, funds := range report.Funds {
		isNew, err := tx.recordFunds(ctx, p, funds)
		if err != nil {
			return nil, err
		}
		moved = moved || isNew
	}
	d, before := p.Disputes.Follow(report.Dispute, moved)
	if d == nil {
		return nil, nil
	}
	if err := tx.Disputes.Save(ctx, p, d); err != nil {
		return nil, err
	}
	for _, eventType := range disputeEvents(before, d.Status) {
		if err := tx.Outbox.Add(ctx, p.disputeEvent(eventType, d)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// disputeEvents returns the events of a dispute that gets a status after another one, or
// after none.
func disputeEvents(before, after cards.DisputeStatus) (events []core.EventType) {
	if before == "" || !before.IsOpen() && after.IsOpen() {
		events = append(events, EventPaymentDisputed)
	}
	switch {
	case after == before || after.IsOpen():
		return events
	case after == cards.DisputeLost:
		return append(events, EventPaymentDisputeLost)
	}
	return append(events, EventPaymentDisputeWon)
}

// recordFunds appends the ledger entry for money that a dispute moved, unless it is there,
// and reports whether it did.
func (tx Tx) recordFunds(ctx context.Context, p *Payment, moved cards.DisputedFunds) (isNew bool, err error) {
	e := &LedgerEntry{
		Kind: EntryDispute, Debit: DisputesAccount, Credit: ProviderAccount, Amount: moved.Amount,
		PaymentID: p.ID, Reference: moved.ExternalID,
	}
	if moved.Fee {
		e.Kind, e.Debit = EntryDisputeFee, DisputeFeesAccount
	}
	if moved.Returned {
		e.Debit, e.Credit = e.Credit, e.Debit
	}
	recorded, err := tx.Ledger.HasReference(ctx, e.Kind, e.Reference)
	if err != nil || recorded {
		return false, err
	}
	return true, tx.saveEntry(ctx, nil, e)
}

// refuseDisputed refuses a refund while a bank decides about the same money. Refusal:
// payment_disputed.
func (p *Payment) refuseDisputed() error {
	d := p.Disputes.Shown()
	if d == nil || !d.Status.IsOpen() {
		return nil
	}
	return core.Refuse(core.CodePaymentDisputed, fmt.Sprintf(
		"the customer's bank disputes the payment (%s, %s); the shop answers or accepts the dispute at the card provider", d.ID, d.Status))
}
