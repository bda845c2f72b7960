package httpapi

import (
	"context"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

func (a *api) confirmPayment(ctx context.Context, r *request) (*response, error) {
	id, err := r.id("order_id", "order")
	if err != nil {
		return nil, err
	}
	in, err := bodyOf[wire.ConfirmPaymentRequest](r)
	if err != nil {
		return nil, err
	}
	p, repeated, err := a.Payments.ConfirmPayment(ctx, r.actor, payment.ConfirmPayment{
		OrderID: id, Method: payment.Method(in.Method), Key: r.key,
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
	move func(context.Context, core.Actor, payment.MoveBalance) (*payment.Movement, bool, error),
) (*response, error) {
	in, err := bodyOf[wire.CreditBalanceRequest](r)
	if err != nil {
		return nil, err
	}
	amount, err := moneyIn(in.Amount, "/amount")
	if err != nil {
		return nil, err
	}
	m, repeated, err := move(ctx, r.actor, payment.MoveBalance{
		CustomerID: r.param("customer_id"), Amount: amount,
		Description: value(in.Description), Reference: value(in.Reference), Key: r.key,
	})
	if err != nil {
		return nil, err
	}
	return &response{status: http.StatusCreated, body: movementOut(m), repeated: repeated}, nil
}

func (a *api) getBalance(ctx context.Context, r *request) (*response, error) {
	customerID := r.param("customer_id")
	balances, err := a.Payments.GetBalance(ctx, r.actor, customerID)
	if err != nil {
		return nil, err
	}
	out := wire.Balance{CustomerID: customerID, Balances: []wire.Money{}}
	for _, b := range balances {
		out.Balances = append(out.Balances, moneyOut(b.Amount))
	}
	return &response{status: http.StatusOK, body: out}, nil
}

func paymentOut(p *payment.Payment) wire.Payment {
	return wire.Payment{
		ID: p.ID, OrderID: p.OrderID, Method: wire.PaymentMethod(p.Method), Amount: moneyOut(p.Amount),
		Refunded: moneyOut(p.Refunded()), Status: wire.PaymentStatus(p.Status), CreatedAt: p.CreatedAt,
	}
}

func movementOut(m *payment.Movement) wire.BalanceTransaction {
	return wire.BalanceTransaction{
		ID: m.ID, CustomerID: m.CustomerID, Kind: wire.BalanceTransactionKind(m.Kind),
		Amount: moneyOut(m.Amount), BalanceAfter: moneyOut(m.BalanceAfter),
		Description: orNull(m.Description), Reference: orNull(m.Reference), CreatedAt: m.CreatedAt,
	}
}
