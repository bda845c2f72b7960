package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// ConfirmPayment is the command to pay an order.
type ConfirmPayment struct {
	OrderID int64
	Method  Method
	// CardToken stands for the card in a card payment.
	CardToken string
	Key       string
}

// ConfirmPayment pays an order that belongs to the actor. A payment from the balance is
// captured at once; a card payment is processing until the provider has answered. If
// the same operation already paid, it only returns that payment and true (AUTH-19,
// second line of defence).
//
// Refusals: not_found, forbidden_resource, invalid_order_state, reservation_expired,
// insufficient_funds, payment_method_unavailable, idempotency_key_reused.
func (s *Service) ConfirmPayment(ctx context.Context, actor core.Actor, cmd ConfirmPayment) (*Payment, bool, error) {
	by := core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var p *Payment
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		op, err := tx.lockOrder(ctx, cmd.OrderID, payGrant(actor))
		if err != nil {
			return err
		}
		if p = op.paymentBy(by); p != nil {
			repeated = true
			return p.repeats(cmd)
		}
		if p, err = s.pay(ctx, tx, op, cmd, by); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "ConfirmPayment", order.Resource(cmd.OrderID),
			op.Order.Owners().Metadata().WithID("payment_id", p.ID).With("method", string(p.Method)).WithAmount(p.Amount))
	})
	return p, repeated, err
}

// pay saves a payment by the requested method.
func (s *Service) pay(
	ctx context.Context, tx Tx, op *OrderPayments, cmd ConfirmPayment, by core.Operation,
) (*Payment, error) {
	if cmd.Method == ByCard {
		return s.payByCard(ctx, tx, op, cmd, by)
	}
	p, e, err := op.payFromBalance(by, tx.Now)
	if err != nil {
		return nil, err
	}
	return p, tx.savePaid(ctx, op, p, e)
}

// payByCard saves a processing payment together with the intent to charge the card. The
// provider is called after the commit, because a call inside could not be rolled back.
func (s *Service) payByCard(
	ctx context.Context, tx Tx, op *OrderPayments, cmd ConfirmPayment, by core.Operation,
) (*Payment, error) {
	if s.Gateway == nil {
		return nil, core.Refuse(core.CodePaymentMethodUnavailable, "card payments are not enabled")
	}
	if refusal := s.Gateway.AmountRefusal(op.Order.Total); refusal != "" {
		return nil, core.Refuse(core.CodePaymentMethodUnavailable, refusal+"; the total is "+op.Order.Total.String())
	}
	if err := op.Order.AwaitPayment(tx.Now); err != nil {
		return nil, err
	}
	id, err := tx.IDs.NextID(ctx, core.PaymentIDs)
	if err != nil {
		return nil, err
	}
	p := &Payment{
		ID: id, OrderID: op.Order.ID, Method: ByCard, Amount: op.Order.Total, Status: Processing,
		Card: Card{Token: cmd.CardToken}, By: by, CreatedAt: op.timeOfPayment(tx.Now), New: true,
	}
	if err := tx.SaveOrder(ctx, op.Order, nil, order.EventPaymentProcessing); err != nil {
		return nil, err
	}
	if err := tx.Payments.Save(ctx, p); err != nil {
		return nil, err
	}
	if err := tx.Intents.Settle(ctx, p.ID); err != nil {
		return nil, err
	}
	return p, tx.Outbox.Add(ctx, p.Event(EventPaymentProcessing))
}

// repeats refuses a retry that asks for a different payment than the first request did.
func (p *Payment) repeats(cmd ConfirmPayment) error {
	if p.Method != cmd.Method || p.Card.Token != cmd.CardToken {
		return core.KeyReused()
	}
	return nil
}
