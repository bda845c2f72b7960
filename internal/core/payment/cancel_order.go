package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// CancelOrder is the command to cancel an order.
type CancelOrder struct {
	OrderID int64
	Reason  string
	Key     string
}

// CancelOrder cancels an order, returns the stock, and refunds the captured payment. It
// belongs to this package because it moves money. If the same operation already
// cancelled the order, it only returns the order and true (AUTH-19, second line of
// defence).
//
// Refusals: not_found, forbidden_resource, invalid_order_state, payment_disputed,
// validation_failed (a balance above the maximum), idempotency_key_reused.
func (s *Service) CancelOrder(ctx context.Context, actor core.Actor, cmd CancelOrder) (*order.Order, bool, error) {
	cancellation := order.Cancellation{By: core.Operation{Actor: actor.Subject, Key: cmd.Key}, Reason: cmd.Reason}
	var o *order.Order
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.lockOrder(ctx, cmd.OrderID, cancelGrant(actor))
		if err != nil {
			return err
		}
		o = op.Order
		if prior := o.Cancellation; prior != nil && prior.By == cancellation.By {
			repeated = true
			return prior.Repeats(cancellation)
		}
		previous := o.Status
		if err := o.Cancel(cancellation, op.Stock, tx.Now); err != nil {
			return err
		}
		if err := tx.SaveOrder(ctx, o, op.Stock, order.EventCancelled); err != nil {
			return err
		}
		r, err := tx.refundInFull(ctx, op, cancellation)
		if err != nil {
			return err
		}
		metadata := o.Owners().Metadata()
		if r != nil {
			metadata = r.auditMetadata(o)
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "CancelOrder", order.Resource(o.ID),
			metadata.With("previous_status", string(previous)))
	})
	return o, repeated, err
}

// refundInFull refunds the refundable amount of a cancelled order. It returns nil if
// that is zero.
func (tx Tx) refundInFull(ctx context.Context, op *OrderPayments, cancellation order.Cancellation) (*Refund, error) {
	p := op.captured()
	if p == nil || p.Refundable().IsZero() {
		return nil, nil
	}
	if err := p.refuseDisputed(); err != nil {
		return nil, err
	}
	r, e, err := op.refund(p, p.Refundable(), core.Operation{Actor: cancellation.By.Actor}, tx.Now)
	if err != nil {
		return nil, err
	}
	r.Reason, r.Full = cancellation.Reason, true
	return r, tx.saveRefund(ctx, op, r, e)
}
