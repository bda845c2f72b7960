package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// savePaid saves a payment from the balance with all its changes.
func (tx Tx) savePaid(ctx context.Context, op *OrderPayments, p *Payment, e *LedgerEntry) error {
	id, err := tx.IDs.NextID(ctx, core.PaymentIDs)
	if err != nil {
		return err
	}
	p.ID, e.PaymentID = id, id
	if err := tx.SaveOrder(ctx, op.Order, op.Stock, order.EventPaid); err != nil {
		return err
	}
	if err := tx.Payments.Save(ctx, p); err != nil {
		return err
	}
	if err := tx.saveEntry(ctx, op.Balance, e); err != nil {
		return err
	}
	return tx.Outbox.Add(ctx, p.Event(EventPaymentCaptured))
}

// saveRefund saves a new refund: to the balance with its ledger entry, to a card with
// the intent to ask the provider.
func (tx Tx) saveRefund(ctx context.Context, op *OrderPayments, r *Refund, e *LedgerEntry) error {
	id, err := tx.IDs.NextID(ctx, core.RefundIDs)
	if err != nil {
		return err
	}
	r.ID = id
	if err := tx.Refunds.Save(ctx, r); err != nil {
		return err
	}
	if e == nil {
		err = tx.Intents.SettleRefund(ctx, r.ID)
	} else {
		e.RefundID = r.ID
		err = tx.saveEntry(ctx, op.Balance, e)
	}
	if err != nil {
		return err
	}
	return tx.Outbox.Add(ctx, r.Event(refundEvents[r.Status]))
}

// saveEntry appends an entry to the ledger, saves the changed balance and publishes
// that change. The balance is nil if the money moved between other accounts.
func (tx Tx) saveEntry(ctx context.Context, b *Balance, e *LedgerEntry) error {
	id, err := tx.IDs.NextID(ctx, core.LedgerEntryIDs)
	if err != nil {
		return err
	}
	e.ID, e.CreatedAt = id, tx.Now
	if b != nil {
		b.place(e, tx.Now)
	}
	if err := tx.Ledger.Append(ctx, e); err != nil || b == nil {
		return err
	}
	if err := tx.Balances.Save(ctx, b); err != nil {
		return err
	}
	return tx.Outbox.Add(ctx, b.Event(balanceEvents[e.Kind], e))
}
