package payment

import (
	"context"
	"fmt"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment/cards"
)

const lateCaptureReason = "captured after the payment had failed"

// serviceActor is the actor for refunds that no user requested.
const serviceActor = "orders"

// returnLateCapture refunds money that the provider captured for a failed payment. The
// customer was told that the payment failed, and may have used a second card. So
// payment and order keep their statuses; the money is recorded and refunded in full.
//
// It happens once per payment: if the provider refuses the refund or captures again,
// reconciliation reports it.
func (tx Tx) returnLateCapture(ctx context.Context, op *OrderPayments, p *Payment, externalID string) error {
	if len(p.Refunds) > 0 {
		return nil
	}
	p.Card.ExternalID = externalID
	if err := tx.Payments.Save(ctx, p); err != nil {
		return err
	}
	e := &LedgerEntry{
		Kind: EntryPayment, Debit: ProviderAccount, Credit: UnappliedAccount, Amount: p.Amount, PaymentID: p.ID,
	}
	if err := tx.saveEntry(ctx, nil, e); err != nil {
		return err
	}
	if err := tx.Outbox.Add(ctx, p.Event(EventPaymentCapturedLate)); err != nil {
		return err
	}
	r, _, err := op.refund(p, p.Amount, core.Operation{Actor: serviceActor}, tx.Now)
	if err != nil {
		return err
	}
	r.Reason, r.Full = lateCaptureReason, true
	return tx.saveRefund(ctx, op, r, nil)
}

// ReturnLateCapture applies a charge that reconciliation found for a failed payment,
// and returns the refunds of the payment.
func (s *Service) ReturnLateCapture(ctx context.Context, paymentID int64, result cards.ChargeResult) ([]*Refund, error) {
	var p *Payment
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.OrderPayments.LockByPayment(ctx, paymentID)
		if err != nil {
			return err
		}
		p = op.payment(paymentID)
		_, err = tx.applyCharge(ctx, op, p, result)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("give back the late capture of payment %d: %w", paymentID, err)
	}
	return p.Refunds, nil
}
