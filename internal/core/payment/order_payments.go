package payment

import (
	"context"
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// OrderPayments is an order with all that paying or refunding it touches: the stock of
// its lines, its payments with their refunds, and the customer's balance in its
// currency.
type OrderPayments struct {
	Order    *order.Order
	Stock    order.Stock
	Payments []*Payment
	Balance  *Balance
}

// paymentBy gives the payment that an operation made, nil for none.
func (c *OrderPayments) paymentBy(by core.Operation) *Payment {
	i := slices.IndexFunc(c.Payments, func(p *Payment) bool { return p.By == by })
	if i < 0 {
		return nil
	}
	return c.Payments[i]
}

// payFromBalance moves the order's total from the customer's balance to the seller,
// and marks the order paid. Refusals: invalid_order_state, reservation_expired,
// insufficient_funds.
func (c *OrderPayments) payFromBalance(by core.Operation, now time.Time) (*Payment, *LedgerEntry, error) {
	if err := c.Order.Payable(now); err != nil {
		return nil, nil, err
	}
	m, err := c.Balance.withdraw(EntryPayment, sellerAccount(c.Order.SellerID), c.Order.Total)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Order.Pay(c.Stock, now); err != nil {
		return nil, nil, err
	}
	p := &Payment{
		OrderID: c.Order.ID, Method: FromBalance, Amount: c.Order.Total,
		Status: Captured, By: by, CreatedAt: now,
	}
	return p, m, nil
}

// captured gives the payment that holds the customer's money, nil for none.
func (c *OrderPayments) captured() *Payment {
	i := slices.IndexFunc(c.Payments, func(p *Payment) bool { return p.Status == Captured })
	if i < 0 {
		return nil
	}
	return c.Payments[i]
}

// refundBy gives the refund that an operation made, nil for none.
func (c *OrderPayments) refundBy(by core.Operation) *Refund {
	for _, p := range c.Payments {
		for _, r := range p.Refunds {
			if r.By == by {
				return r
			}
		}
	}
	return nil
}

// refund gives money of a payment back: to the customer's balance at once, to a card
// when the provider has answered, and then there is no entry yet. Refusal:
// refund_exceeds_payment.
func (c *OrderPayments) refund(p *Payment, amount core.Money, by core.Operation, now time.Time) (*Refund, *LedgerEntry, error) {
	if amount.IsZero() || p.Refundable().Less(amount) {
		return nil, nil, core.Refuse(core.Conflict, core.CodeRefundExceedsPayment,
			"only "+p.Refundable().String()+" of the payment is left to refund")
	}
	r := &Refund{PaymentID: p.ID, OrderID: p.OrderID, Amount: amount, Status: RefundPending, By: by, CreatedAt: now}
	p.Refunds = append(p.Refunds, r)
	if p.Method == ByCard {
		return r, nil, nil
	}
	r.Status = RefundSucceeded
	m, err := c.Balance.deposit(EntryRefund, sellerAccount(c.Order.SellerID), amount)
	if err != nil {
		return nil, nil, err
	}
	m.PaymentID = p.ID
	return r, m, nil
}

// savePaid writes a payment from the balance and everything that it changed.
func (tx Tx) savePaid(ctx context.Context, c *OrderPayments, p *Payment, m *LedgerEntry) error {
	id, err := tx.IDs.NextID(ctx, core.PaymentIDs)
	if err != nil {
		return err
	}
	p.ID, m.PaymentID = id, id
	if err := tx.SaveOrder(ctx, c.Order, c.Stock, "paid"); err != nil {
		return err
	}
	if err := tx.Payments.Save(ctx, p); err != nil {
		return err
	}
	if err := tx.saveEntry(ctx, c.Balance, m); err != nil {
		return err
	}
	return tx.Journal.Publish(ctx, p.Event("captured"))
}

// saveRefund writes a new refund, and the entry that paid it or the intent to ask the
// provider for it.
func (tx Tx) saveRefund(ctx context.Context, c *OrderPayments, r *Refund, m *LedgerEntry) error {
	id, err := tx.IDs.NextID(ctx, core.RefundIDs)
	if err != nil {
		return err
	}
	r.ID = id
	if err := tx.Payments.SaveRefund(ctx, r); err != nil {
		return err
	}
	if m == nil {
		err = tx.Intents.SettleRefund(ctx, r.ID)
	} else {
		m.RefundID = r.ID
		err = tx.saveEntry(ctx, c.Balance, m)
	}
	if err != nil {
		return err
	}
	return tx.Journal.Publish(ctx, r.Event(string(r.Status)))
}

// saveEntry writes a entry and the balance it changed, nil for money that moved
// past the balances, and publishes it.
func (tx Tx) saveEntry(ctx context.Context, b *Balance, m *LedgerEntry) error {
	id, err := tx.IDs.NextID(ctx, core.LedgerEntryIDs)
	if err != nil {
		return err
	}
	m.ID, m.CreatedAt = id, tx.Now
	if err := tx.Balances.Save(ctx, b, m); err != nil || b == nil {
		return err
	}
	return tx.Journal.Publish(ctx, b.Event(string(m.Kind), m))
}
