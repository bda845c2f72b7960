package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// RefundPayment is the command to refund an order's payment. It says how much in
// exactly one way, so that a command that lost the amount is not the largest refund.
type RefundPayment struct {
	OrderID int64
	// Full asks for the whole refundable amount; Amount is nil then.
	Full   bool
	Amount *core.Money
	Reason string
	// Reference is an optional id from the caller.
	Reference string
	Key       string
}

// Validate refuses a refund of zero, of no stated amount, and of two.
func (cmd RefundPayment) Validate() error {
	switch {
	case cmd.Full && cmd.Amount != nil:
		return core.InvalidField("/full", "must not be sent with amount")
	case !cmd.Full && cmd.Amount == nil:
		return core.InvalidField("/amount", "is required unless full is sent")
	case cmd.Amount != nil && cmd.Amount.IsZero():
		return amountOfZero()
	}
	return nil
}

// RefundPayment refunds an order's payment in full or in part. The customer may request
// it until the goods are shipped, an administrator at any time. When the refundable
// amount reaches zero, an order that has not been shipped is cancelled. If the same
// operation already refunded, it only returns that refund and true (AUTH-19, second
// line of defence).
//
// Refusals: not_found, forbidden_resource, validation_failed (no amount, a zero amount,
// a different currency, an amount that the card provider cannot return, or a balance
// above the maximum), reference_taken, invalid_order_state (no captured payment, or
// already shipped), payment_disputed, refund_exceeds_payment, idempotency_key_reused.
func (s *Service) RefundPayment(ctx context.Context, actor core.Actor, cmd RefundPayment) (*Refund, bool, error) {
	if err := cmd.Validate(); err != nil {
		return nil, false, err
	}
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var r *Refund
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.lockOrder(ctx, cmd.OrderID, refundGrant(actor))
		if err != nil {
			return err
		}
		if r = op.refundBy(by); r != nil {
			repeated = true
			return r.repeats(cmd)
		}
		if op.refundReferring(cmd.Reference, actor) != nil {
			return core.ReferenceTaken("you have already refunded this payment")
		}
		if r, err = s.refundAndCancel(ctx, tx, op, actor, cmd, by); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "RefundPayment", order.Resource(cmd.OrderID),
			r.auditMetadata(op.Order))
	})
	return r, repeated, err
}

// refundAndCancel makes the refund, and cancels the order if the refundable amount is
// zero then.
func (s *Service) refundAndCancel(ctx context.Context, tx Tx, op *OrderPayments, actor core.Actor, cmd RefundPayment, by core.Operation) (*Refund, error) {
	p, amount, err := op.refundable(actor, cmd)
	if err != nil {
		return nil, err
	}
	if err := s.checkCardRefund(p, cmd); err != nil {
		return nil, err
	}
	r, e, err := op.refund(p, amount, by, tx.Now)
	if err != nil && !cmd.Full {
		return nil, atAmount(err)
	}
	if err != nil {
		return nil, err
	}
	r.Reason, r.Reference, r.Full = cmd.Reason, cmd.Reference, cmd.Full
	if err := tx.saveRefund(ctx, op, r, e); err != nil {
		return nil, err
	}
	return r, tx.cancelRefunded(ctx, op, p, r)
}

// refundable returns the payment and the amount to refund, or the refusal.
func (op *OrderPayments) refundable(actor core.Actor, cmd RefundPayment) (*Payment, core.Money, error) {
	var amount core.Money
	p := op.captured()
	if p == nil {
		return nil, amount, core.Refuse(core.CodeInvalidOrderState, "the order has no captured payment")
	}
	if err := p.refuseDisputed(); err != nil {
		return nil, amount, err
	}
	if !op.Order.Status.BeforeShipping() && !actor.Has(core.Admin) {
		return nil, amount, core.Refuse(core.CodeInvalidOrderState,
			"the order is "+string(op.Order.Status)+"; only an administrator can refund it now")
	}
	if cmd.Full {
		return p, p.Refundable(), nil
	}
	amount = *cmd.Amount
	if amount.Currency() != p.Amount.Currency() {
		return nil, amount, core.InvalidField("/amount/currency", "must be the currency of the payment, "+string(p.Amount.Currency()))
	}
	return p, amount, nil
}

// checkCardRefund refuses a partial refund that the card provider cannot return.
func (s *Service) checkCardRefund(p *Payment, cmd RefundPayment) error {
	if p.Method != ByCard || cmd.Amount == nil || s.Gateway == nil {
		return nil
	}
	if refusal := s.Gateway.AmountRefusal(*cmd.Amount); refusal != "" {
		return core.InvalidField("/amount/amount", refusal)
	}
	return nil
}

// cancelRefunded cancels an unshipped order that has been refunded in full. The
// operation belongs to the refund, so the cancellation has no key.
func (tx Tx) cancelRefunded(ctx context.Context, op *OrderPayments, p *Payment, r *Refund) error {
	if p.Status != Captured || !p.Refundable().IsZero() || !op.Order.Cancellable() {
		return nil
	}
	cancellation := order.Cancellation{By: core.Operation{Actor: r.By.Actor}, Reason: r.Reason}
	if err := op.Order.Cancel(cancellation, op.Stock, tx.Now); err != nil {
		return err
	}
	return tx.SaveOrder(ctx, op.Order, op.Stock, order.EventCancelled)
}
