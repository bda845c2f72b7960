package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

func (a *api) confirmPayment(ctx context.Context, r *request) (*response, error) {
	id, err := r.orderID()
	if err != nil {
		return nil, err
	}
	in, err := bodyOf[wire.ConfirmPaymentRequest](r)
	if err != nil {
		return nil, err
	}
	p, repeated, err := a.Payments.ConfirmPayment(ctx, r.actor, payment.ConfirmPayment{
		OrderID: id, Method: payment.Method(in.Method), CardToken: value(in.PaymentMethod), Key: r.key,
	})
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: paymentOut(p), repeated: repeated}, nil
}

func (a *api) creditBalance(ctx context.Context, r *request) (*response, error) {
	return moveBalance(ctx, r, a.Payments.CreditBalance)
}

func (a *api) chargeBalance(ctx context.Context, r *request) (*response, error) {
	return moveBalance(ctx, r, a.Payments.ChargeBalance)
}

// moveBalance serves credit and charge, which are asked for and answered alike.
func moveBalance(
	ctx context.Context, r *request,
	move func(context.Context, core.Actor, payment.ChangeBalance) (*payment.LedgerEntry, bool, error),
) (*response, error) {
	in, err := bodyOf[wire.CreditBalanceRequest](r)
	if err != nil {
		return nil, err
	}
	amount, err := moneyIn(in.Amount, "/amount")
	if err != nil {
		return nil, err
	}
	customerID, err := r.customerID()
	if err != nil {
		return nil, err
	}
	m, repeated, err := move(ctx, r.actor, payment.ChangeBalance{
		CustomerID: customerID, Amount: amount,
		Description: value(in.Description), Reference: value(in.Reference), Key: r.key,
	})
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusCreated, body: balanceTransactionOut(m), repeated: repeated}, nil
}

func (a *api) getBalance(ctx context.Context, r *request) (*response, error) {
	customerID, err := r.customerID()
	if err != nil {
		return nil, err
	}
	balances, err := a.Payments.GetBalance(ctx, r.actor, customerID)
	if err != nil {
		return nil, err
	}
	amounts := all(balances, func(b *payment.Balance) wire.Money { return moneyOut(b.Amount) })
	return &response{status: http.StatusOK, body: wire.Balance{CustomerID: customerID, Balances: amounts}}, nil
}

func (a *api) listBalanceTransactions(ctx context.Context, r *request) (*response, error) {
	page, err := r.page()
	if err != nil {
		return nil, err
	}
	customerID, err := r.customerID()
	if err != nil {
		return nil, err
	}
	entries, next, err := a.Payments.ListBalanceTransactions(ctx, r.actor, customerID, page)
	if err != nil {
		return nil, err
	}
	body := wire.BalanceTransactionPage{Data: all(entries, balanceTransactionOut), NextCursor: cursorOut(next)}
	return &response{status: http.StatusOK, body: body}, nil
}

func (a *api) refundPayment(ctx context.Context, r *request) (*response, error) {
	id, err := r.orderID()
	if err != nil {
		return nil, err
	}
	in, err := bodyOf[wire.RefundPaymentRequest](r)
	if err != nil {
		return nil, err
	}
	cmd := payment.RefundPayment{OrderID: id, Reason: value(in.Reason), Key: r.key}
	if in.Amount != nil {
		amount, err := moneyIn(*in.Amount, "/amount")
		if err != nil {
			return nil, err
		}
		cmd.Amount = &amount
	}
	refund, repeated, err := a.Payments.RefundPayment(ctx, r.actor, cmd)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: refundOut(refund), repeated: repeated}, nil
}

func (a *api) listPayments(ctx context.Context, r *request) (*response, error) {
	id, err := r.orderID()
	if err != nil {
		return nil, err
	}
	payments, err := a.Payments.ListPayments(ctx, r.actor, id)
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusOK, body: wire.PaymentList{Data: all(payments, paymentWithRefundsOut)}}, nil
}

func paymentOut(p *payment.Payment) wire.Payment {
	return wire.Payment{
		ID: p.ID, OrderID: p.OrderID, Method: wire.PaymentMethod(p.Method), Amount: moneyOut(p.Amount),
		Refunded: moneyOut(p.Refunded()), Status: wire.PaymentStatus(p.Status), Failure: orNull(p.Card.Failure), CreatedAt: p.CreatedAt,
	}
}

func balanceTransactionOut(m *payment.LedgerEntry) wire.BalanceTransaction {
	return wire.BalanceTransaction{
		ID: m.ID, CustomerID: m.CustomerID, Kind: wire.BalanceTransactionKind(m.Kind),
		Amount: moneyOut(m.Amount), BalanceAfter: moneyOut(m.BalanceAfter),
		Description: orNull(m.Description), Reference: orNull(m.Reference), CreatedAt: m.CreatedAt,
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
		Status: out.Status, Failure: out.Failure, CreatedAt: out.CreatedAt, Refunds: all(p.Refunds, refundOut),
	}
}
