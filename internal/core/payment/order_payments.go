package payment

import (
	"context"
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// OrderPayments is an order with the payments, refunds and stock, and the customer
// balance in the currency of the order, all locked for a decision about money.
type OrderPayments struct {
	Order    *order.Order
	Stock    order.Stock
	Payments []*Payment
	Balance  *Balance
}

// lockOrder locks an order with its money and checks the grant. Refusals: not_found,
// forbidden_resource.
func (tx Tx) lockOrder(ctx context.Context, id int64, grant core.Grant) (*OrderPayments, error) {
	op, err := tx.OrderPayments.Lock(ctx, id, grant)
	if err != nil {
		return nil, core.RefusalOf(err, "order")
	}
	if _, err := grant.Authorise(op.Order.Owners()); err != nil {
		return nil, err
	}
	return op, nil
}

// payFromBalance moves the order total from the customer balance to the seller, and
// marks the order paid. Refusals: invalid_order_state, reservation_expired,
// insufficient_funds.
func (op *OrderPayments) payFromBalance(by core.Operation, now time.Time) (*Payment, *LedgerEntry, error) {
	if err := op.Order.Payable(now); err != nil {
		return nil, nil, err
	}
	e, err := op.Balance.withdraw(EntryPayment, sellerAccount(op.Order.SellerID), op.Order.Total)
	if err != nil {
		return nil, nil, err
	}
	if err := op.Order.Pay(op.Stock, now); err != nil {
		return nil, nil, err
	}
	p := &Payment{
		OrderID: op.Order.ID, Method: FromBalance, Amount: op.Order.Total,
		Status: Captured, By: by, CreatedAt: op.timeOfPayment(now), New: true,
	}
	return p, e, nil
}

// refund returns money to the customer. A refund to the balance succeeds at once; a
// card refund is pending until the provider has answered, and has a ledger entry only
// then. Refusal: refund_exceeds_payment.
func (op *OrderPayments) refund(
	p *Payment, amount core.Money, by core.Operation, now time.Time,
) (*Refund, *LedgerEntry, error) {
	if amount.IsZero() || p.Refundable().Less(amount) {
		return nil, nil, core.Refuse(core.CodeRefundExceedsPayment,
			"the refundable amount of the payment is "+p.Refundable().String())
	}
	r := &Refund{
		PaymentID: p.ID, OrderID: p.OrderID, Amount: amount, Status: RefundPending,
		By: by, CreatedAt: p.timeOfRefund(now), New: true,
	}
	p.Refunds = append(p.Refunds, r)
	if p.Method == ByCard {
		return r, nil, nil
	}
	r.Status = RefundSucceeded
	e, err := op.Balance.deposit(EntryRefund, sellerAccount(op.Order.SellerID), amount)
	if err != nil {
		return nil, nil, err
	}
	e.PaymentID = p.ID
	return r, e, nil
}

// timeOfPayment returns a time after all other payments for the order: a transaction
// that began later may have locked the order first.
func (op *OrderPayments) timeOfPayment(now time.Time) time.Time {
	for _, p := range op.Payments {
		now = core.After(p.CreatedAt, now)
	}
	return now
}

// paymentBy returns the payment made by an operation, or nil.
func (op *OrderPayments) paymentBy(by core.Operation) *Payment {
	return op.findPayment(func(p *Payment) bool { return p.By == by })
}

// payment returns the payment with an id, or nil.
func (op *OrderPayments) payment(id int64) *Payment {
	return op.findPayment(func(p *Payment) bool { return p.ID == id })
}

// captured returns the captured payment, or nil. An order has at most one.
func (op *OrderPayments) captured() *Payment {
	return op.findPayment(func(p *Payment) bool { return p.Status == Captured })
}

// refundBy returns the refund made by an operation, or nil.
func (op *OrderPayments) refundBy(by core.Operation) *Refund {
	_, r := op.findRefund(func(r *Refund) bool { return r.By == by })
	return r
}

// refundReferring returns the refund that an actor made with a reference, or nil. A
// refund that failed keeps the reference: a late copy of the request must not refund
// once more.
func (op *OrderPayments) refundReferring(reference string, actor core.Actor) *Refund {
	_, r := op.findRefund(func(r *Refund) bool {
		return reference != "" && r.Reference == reference && r.By.Actor == actor.Subject
	})
	return r
}

// refundByID returns a refund and its payment, or nil.
func (op *OrderPayments) refundByID(id int64) (*Payment, *Refund) {
	return op.findRefund(func(r *Refund) bool { return r.ID == id })
}

func (op *OrderPayments) findPayment(match func(*Payment) bool) *Payment {
	i := slices.IndexFunc(op.Payments, match)
	if i < 0 {
		return nil
	}
	return op.Payments[i]
}

func (op *OrderPayments) findRefund(match func(*Refund) bool) (*Payment, *Refund) {
	for _, p := range op.Payments {
		if i := slices.IndexFunc(p.Refunds, match); i >= 0 {
			return p, p.Refunds[i]
		}
	}
	return nil, nil
}
