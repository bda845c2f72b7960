package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// CancelOrder asks to end an order.
type CancelOrder struct {
	OrderID int64
	Reason  string
	Key     string
}

// CancelOrder ends an order, gives its stock back, and refunds what was captured. That
// is why it stands here: cancelling moves money. The flag tells that the same operation
// had cancelled it before, and nothing happened now (AUTH-19, the second line).
//
// Refusals: not_found, forbidden_resource, invalid_order_state, idempotency_key_reused.
func (s *Service) CancelOrder(ctx context.Context, actor core.Actor, cmd CancelOrder) (*order.Order, bool, error) {
	cancellation := order.Cancellation{By: core.Operation{Actor: actor.Subject, Key: cmd.Key}, Reason: cmd.Reason}
	var o *order.Order
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.lockOrderPayments(ctx, cmd.OrderID)
		if err != nil {
			return err
		}
		o = op.Order
		if _, err := o.AllowParties(actor, core.Admin); err != nil {
			return err
		}
		if prior := o.Cancellation; prior != nil && prior.By == cancellation.By {
			repeated = true
			return prior.Repeats(cancellation)
		}
		if err := o.Cancel(cancellation, op.Stock, tx.Now); err != nil {
			return err
		}
		if err := tx.SaveOrder(ctx, o, op.Stock, "cancelled"); err != nil {
			return err
		}
		if err := tx.refundInFull(ctx, op, cancellation); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.Journal, actor, "CancelOrder", order.Resource(o.ID), nil)
	})
	return o, repeated, err
}

// refundInFull gives back what the customer has still paid for a cancelled order.
func (tx Tx) refundInFull(ctx context.Context, c *OrderPayments, cancellation order.Cancellation) error {
	p := c.captured()
	if p == nil || p.Refundable().IsZero() {
		return nil
	}
	r, m, err := c.refund(p, p.Refundable(), core.Operation{Actor: cancellation.By.Actor}, tx.Now)
	if err != nil {
		return err
	}
	r.Reason, r.Full = cancellation.Reason, true
	return tx.saveRefund(ctx, c, r, m)
}
