package httpapi

import (
	"net/http"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/resources"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
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

func decodeRefundPayment(r *request) (payment.RefundPayment, error) {
	id, err := decodeOrderID(r)
	if err != nil {
		return payment.RefundPayment{}, err
	}
	in, err := bodyOf[wire.RefundPaymentRequest](r)
	if err != nil {
		return payment.RefundPayment{}, err
	}
	cmd := payment.RefundPayment{
		OrderID: id, Full: valueOf(in.Full),
		Reason: valueOf(in.Reason), Reference: valueOf(in.Reference), Key: r.key,
	}
	if in.Amount != nil {
		amount, err := decodeMoney(*in.Amount, "/amount")
		if err != nil {
			return payment.RefundPayment{}, err
		}
		cmd.Amount = &amount
	}
	return cmd, cmd.Validate()
}

func decodePaymentSearch(r *request) (search payment.Search, err error) {
	var invalidStatus, invalidMethod error
	search.Status, invalidStatus = oneOf(r, "status", payment.Processing, payment.Captured, payment.Failed)
	search.Method, invalidMethod = oneOf(r, "method", payment.FromBalance, payment.ByCard)
	disputed, invalidDisputed := oneOf(r, "disputed", "true")
	search.Disputed = disputed != ""
	_, search.Created, err = decodeSearch(r)
	return search, problem.Join(invalidStatus, invalidMethod, invalidDisputed, err)
}

func showPayment(p *payment.Payment) *success {
	found := resources.Set{{Name: "order_id", ID: p.OrderID}, {Name: "payment_id", ID: p.ID}}
	return &success{status: http.StatusOK, body: paymentOut(p), resources: found}
}

func showRefund(r *payment.Refund) *success {
	found := resources.Set{{Name: "order_id", ID: r.OrderID}, {Name: "payment_id", ID: r.PaymentID}, {Name: "refund_id", ID: r.ID}}
	return &success{status: http.StatusOK, body: refundOut(r), resources: found}
}

func showPayments(payments []*payment.Payment) *success {
	body := wire.PaymentList{Data: convertAll(payments, paymentWithRefundsOut)}
	return &success{status: http.StatusOK, body: body}
}

func paymentOut(p *payment.Payment) wire.Payment {
	return wire.Payment{
		ID: p.ID, OrderID: p.OrderID, Method: wire.PaymentMethod(p.Method),
		Amount: moneyOut(p.Amount), Refunded: moneyOut(p.Refunded()), Status: wire.PaymentStatus(p.Status),
		Failure: orNull(wire.PaymentFailure(p.Card.Failure)), Dispute: disputeOut(p.Disputes.Shown()), CreatedAt: p.CreatedAt,
	}
}

func disputeOut(d *cards.Dispute) *wire.Dispute {
	if d == nil {
		return nil
	}
	return &wire.Dispute{
		ID: d.ID, Amount: d.Amount.Decimal(), Currency: string(d.Amount.Currency()), Reason: d.Reason,
		Status: wire.DisputeStatus(d.Status), DueBy: orNull(d.DueBy),
	}
}

func refundOut(r *payment.Refund) wire.Refund {
	return wire.Refund{
		ID: r.ID, PaymentID: r.PaymentID, OrderID: r.OrderID, Amount: moneyOut(r.Amount),
		Status: wire.RefundStatus(r.Status), Reason: orNull(r.Reason), Reference: orNull(r.Reference),
		MadeBy: madeBy(r), Failure: orNull(r.Failure), CreatedAt: r.CreatedAt,
	}
}

func madeBy(r *payment.Refund) wire.RefundMadeBy {
	if r.MadeAtProvider {
		return wire.RefundMadeByProvider
	}
	return wire.RefundMadeByAPI
}

func paymentWithRefundsOut(p *payment.Payment) wire.PaymentWithRefunds {
	out := paymentOut(p)
	return wire.PaymentWithRefunds{
		ID: out.ID, OrderID: out.OrderID, Method: out.Method,
		Amount: out.Amount, Refunded: out.Refunded, Status: out.Status, Failure: out.Failure, Dispute: out.Dispute,
		CreatedAt: out.CreatedAt, Refunds: convertAll(p.Refunds, refundOut),
	}
}
