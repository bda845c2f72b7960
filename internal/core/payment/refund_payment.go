package payment

import (
	"context"
	"strconv"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// RefundPayment asks for money of an order back.
type RefundPayment struct {
	OrderID int64
	// Amount is nil for all that is left.
	Amount *core.Money
	Reason string
	Key    string
}

// RefundPayment gives back what an order was paid with, or a part of it: to its
// customer until the goods are shipped, to an administrator's order always. A refund
// of all that was left cancels an order that has not been shipped. The flag tells that
// the same operation had refunded before, and nothing moved now (AUTH-19, the second
// line).
//
// Refusals: not_found, forbidden_resource, validation_failed (no amount, or another
// currency), invalid_order_state (nothing was captured, or it is shipped),
// refund_exceeds_payment, idempotency_key_reused.
func (s *Service) RefundPayment(ctx context.Context, actor core.Actor, cmd RefundPayment) (*Refund, bool, error) {
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var r *Refund
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.lockOrderPayments(ctx, cmd.OrderID)
		if err != nil {
			return err
		}
		if _, err := op.Order.AllowCustomer(actor, core.Admin); err != nil {
			return err
		}
		if r = op.refundBy(by); r != nil {
			repeated = true
			return r.repeats(cmd)
		}
		p, amount, err := op.refundable(actor, cmd)
		if err != nil {
			return err
		}
		var m *LedgerEntry
		if r, m, err = op.refund(p, amount, by, tx.Now); err != nil {
			return err
		}
		r.Reason, r.Full = cmd.Reason, cmd.Amount == nil
		if err := tx.saveRefund(ctx, op, r, m); err != nil {
			return err
		}
		if err := tx.cancelRefunded(ctx, op, p, r); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.Journal, actor, "RefundPayment", order.Resource(cmd.OrderID),
			map[string]string{"refund": strconv.FormatInt(r.ID, 10)})
	})
	return r, repeated, err
}

// refundable gives the payment to refund and how much of it, or says why there is none.
func (c *OrderPayments) refundable(actor core.Actor, cmd RefundPayment) (*Payment, core.Money, error) {
	var amount core.Money
	p := c.captured()
	if p == nil {
		return nil, amount, core.Refuse(core.Conflict, core.CodeInvalidOrderState, "nothing was captured for this order")
	}
	if !c.Order.Status.BeforeShipping() && !actor.Has(core.Admin) {
		return nil, amount, core.Refuse(core.Conflict, core.CodeInvalidOrderState, "the order is "+string(c.Order.Status)+"; only an administrator refunds it now")
	}
	if cmd.Amount == nil {
		return p, p.Refundable(), nil
	}
	amount = *cmd.Amount
	if amount.IsZero() {
		return nil, amount, core.InvalidField("/amount/amount", "must be greater than zero")
	}
	if amount.Currency() != p.Amount.Currency() {
		return nil, amount, core.InvalidField("/amount/currency", "must be the currency of the payment, "+string(p.Amount.Currency()))
	}
	return p, amount, nil
}

// cancelRefunded cancels an order whose goods are still here and whose money is all
// back. Its operation is the refund's, so the cancellation has no key.
func (tx Tx) cancelRefunded(ctx context.Context, c *OrderPayments, p *Payment, r *Refund) error {
	if !p.Refundable().IsZero() || !c.Order.Cancellable() {
		return nil
	}
	cancellation := order.Cancellation{By: core.Operation{Actor: r.By.Actor}, Reason: r.Reason}
	if err := c.Order.Cancel(cancellation, c.Stock, tx.Now); err != nil {
		return err
	}
	return tx.SaveOrder(ctx, c.Order, c.Stock, "cancelled")
}
