package payment

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// Service is the use cases about money.
type Service struct {
	Store Store
	// Gateway is nil where cards are not accepted.
	Gateway Gateway
}

// ConfirmPayment asks to pay an order.
type ConfirmPayment struct {
	OrderID int64
	Method  Method
	// CardToken stands for the card of a payment by card.
	CardToken string
	Key       string
}

// ConfirmPayment pays an order of the actor's own: from their balance at once, or by
// card, which is processing until the provider has answered. The flag tells that the same operation had paid before, and nothing moved now
// (AUTH-19, the second line).
//
// Refusals: not_found, forbidden_resource, invalid_order_state, reservation_expired,
// insufficient_funds, payment_method_unavailable, idempotency_key_reused.
func (s *Service) ConfirmPayment(ctx context.Context, actor core.Actor, cmd ConfirmPayment) (*Payment, bool, error) {
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var p *Payment
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.lockOrderPayments(ctx, cmd.OrderID)
		if err != nil {
			return err
		}
		if _, err := op.Order.AllowCustomer(actor); err != nil {
			return err
		}
		if p = op.paymentBy(by); p != nil {
			repeated = true
			return p.repeats(cmd)
		}
		if cmd.Method == ByCard {
			p, err = s.payByCard(ctx, tx, op, cmd, by)
			return err
		}
		var m *LedgerEntry
		if p, m, err = op.payFromBalance(by, tx.Now); err != nil {
			return err
		}
		if err := tx.savePaid(ctx, op, p, m); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.Journal, actor, "ConfirmPayment", order.Resource(cmd.OrderID), nil)
	})
	return p, repeated, err
}

// payByCard notes what the provider will be asked for: payment, order and intent commit
// together, and the call is made after that.
func (s *Service) payByCard(ctx context.Context, tx Tx, c *OrderPayments, cmd ConfirmPayment, by core.Operation) (*Payment, error) {
	if s.Gateway == nil {
		return nil, core.Refuse(core.Invalid, core.CodePaymentMethodUnavailable, "cards are not accepted here")
	}
	if err := c.Order.AwaitPayment(tx.Now); err != nil {
		return nil, err
	}
	id, err := tx.IDs.NextID(ctx, core.PaymentIDs)
	if err != nil {
		return nil, err
	}
	p := &Payment{
		ID: id, OrderID: c.Order.ID, Method: ByCard, Amount: c.Order.Total, Status: Processing,
		Card: Card{Token: cmd.CardToken}, By: by, CreatedAt: tx.Now,
	}
	if err := tx.SaveOrder(ctx, c.Order, nil, "payment_processing"); err != nil {
		return nil, err
	}
	if err := tx.Payments.Save(ctx, p); err != nil {
		return nil, err
	}
	if err := tx.Intents.Settle(ctx, p.ID); err != nil {
		return nil, err
	}
	return p, tx.Journal.Publish(ctx, p.Event("processing"))
}

// repeats tells whether a payment that exists is the one that cmd asks for.
func (p *Payment) repeats(cmd ConfirmPayment) error {
	if p.Method != cmd.Method || p.Card.Token != cmd.CardToken {
		return core.KeyReused()
	}
	return nil
}

func (tx Tx) lockOrderPayments(ctx context.Context, orderID int64) (*OrderPayments, error) {
	op, err := tx.OrderPayments.Lock(ctx, orderID)
	if errors.Is(err, core.ErrNotFound) {
		return nil, core.NotFound("order")
	}
	return op, err
}
