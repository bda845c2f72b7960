package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

func decodeConfirmPayment(r *request) (payment.ConfirmPayment, error) {
	id, err := decodeOrderID(r)
	if err != nil {
		return payment.ConfirmPayment{}, err
	}
	in, err := bodyOf[wire.ConfirmPaymentRequest](r)
	return payment.ConfirmPayment{
		OrderID: id, Method: payment.Method(in.Method), CardToken: valueOf(in.PaymentMethod), Key: r.key,
	}, err
}

func (a *api) confirmPayment(ctx context.Context, actor core.Actor, cmd payment.ConfirmPayment) (*success, error) {
	p, repeated, err := a.Payments.ConfirmPayment(ctx, actor, cmd)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, body: paymentOut(p), about: aboutPayment(p), repeated: repeated}, nil
}

func decodeRefundPayment(r *request) (payment.RefundPayment, error) {
	id, err := decodeOrderID(r)
	if err != nil {
		return payment.RefundPayment{}, err
	}
	in, err := bodyOf[wire.RefundPaymentRequest](r)
	if err != nil {
		return payment.RefundPayment{}, err
	}
	cmd := payment.RefundPayment{OrderID: id, Reason: valueOf(in.Reason), Key: r.key}
	if in.Amount == nil {
		return cmd, nil // a full refund
	}
	amount, err := decodeMoney(*in.Amount, "/amount")
	if err != nil {
		return payment.RefundPayment{}, err
	}
	cmd.Amount = &amount
	return cmd, cmd.Validate()
}

func (a *api) refundPayment(ctx context.Context, actor core.Actor, cmd payment.RefundPayment) (*success, error) {
	refund, repeated, err := a.Payments.RefundPayment(ctx, actor, cmd)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, body: refundOut(refund), about: aboutRefund(refund), repeated: repeated}, nil
}

func (a *api) listPayments(ctx context.Context, actor core.Actor, orderID int64) (*success, error) {
	payments, err := a.Payments.ListPayments(ctx, actor, orderID)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, body: wire.PaymentList{Data: each(payments, paymentWithRefundsOut)}}, nil
}

func (a *api) getPayment(ctx context.Context, actor core.Actor, id int64) (*success, error) {
	p, err := a.Payments.GetPayment(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, body: paymentOut(p), about: aboutPayment(p)}, nil
}

func (a *api) getRefund(ctx context.Context, actor core.Actor, id int64) (*success, error) {
	r, err := a.Payments.GetRefund(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	return &success{status: http.StatusOK, body: refundOut(r), about: aboutRefund(r)}, nil
}

func aboutPayment(p *payment.Payment) subjects {
	return subjects{{"order_id", p.OrderID}, {"payment_id", p.ID}}
}

func aboutRefund(r *payment.Refund) subjects {
	return subjects{{"order_id", r.OrderID}, {"payment_id", r.PaymentID}, {"refund_id", r.ID}}
}

func paymentOut(p *payment.Payment) wire.Payment {
	return wire.Payment{
		ID: p.ID, OrderID: p.OrderID, Method: wire.PaymentMethod(p.Method), Amount: moneyOut(p.Amount),
		Refunded: moneyOut(p.Refunded()), Status: wire.PaymentStatus(p.Status), Failure: orNull(p.Card.Failure), CreatedAt: p.CreatedAt,
	}
}

func refundOut(r *payment.Refund) wire.Refund {
	return wire.Refund{
		ID: r.ID, PaymentID: r.PaymentID, OrderID: r.OrderID, Amount: moneyOut(r.Amount),
		Status: wire.RefundStatus(r.Status), Reason: orNull(r.Reason), CreatedAt: r.CreatedAt,
	}
}

func paymentWithRefundsOut(p *payment.Payment) wire.PaymentWithRefunds {
	out := paymentOut(p)
	return wire.PaymentWithRefunds{
		ID: out.ID, OrderID: out.OrderID, Method: out.Method, Amount: out.Amount, Refunded: out.Refunded,
		Status: out.Status, Failure: out.Failure, CreatedAt: out.CreatedAt, Refunds: each(p.Refunds, refundOut),
	}
}
