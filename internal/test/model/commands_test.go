package modeltest

import (
	"context"

	"pgregory.net/rapid"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// command is a command with its own key. It has not run yet.
type command struct {
	name, key string
	// buyer is the customer who places an order, and "" for other commands.
	buyer string
	// model runs the command in the model, and returns its result.
	model func() core.Code
	// send runs it in the real service, and reports whether it was repeated.
	send func(context.Context) (repeated bool, err error)
}

// String returns the name and the key.
func (c *command) String() string { return c.name + " " + c.key }

// newCommand returns a command with a new key.
func (m *machine) newCommand(
	name string, model func() core.Code, send func(ctx context.Context, key string) (bool, error),
) *command {
	key := m.newKey()
	return &command{
		name: name, key: key, model: model,
		send: func(ctx context.Context) (bool, error) { return send(ctx, key) },
	}
}

func (m *machine) adjustStock(t *rapid.T) *command {
	sku, change := m.sku(t), rapid.IntRange(-6, 6).Draw(t, "change")
	model := func() core.Code { return m.adjust(sku, change) }
	return m.newCommand("adjust", model, func(ctx context.Context, key string) (bool, error) {
		cmd := order.AdjustStock{SKU: sku, Change: int64(change), Key: key}
		_, repeated, err := m.real.orders.AdjustStock(ctx, seller, cmd)
		return repeated, err
	})
}

func (m *machine) drawChange(t *rapid.T) balanceChange {
	return balanceChange{m.customer(t), rapid.IntRange(1, 100).Draw(t, "amount"), m.reference(t)}
}

func (m *machine) credits(c balanceChange) *command {
	model := func() core.Code { return m.credit(c) }
	return m.newCommand("credit", model, func(ctx context.Context, key string) (bool, error) {
		_, repeated, err := m.real.payments.CreditBalance(ctx, system, c.command(key))
		return repeated, err
	})
}

// undone is the refusal of a command that has written.
const undone = core.Code("undone")

// undoneCredit credits a customer and refuses then: the store must drop what it wrote.
func (m *machine) undoneCredit(t *rapid.T) *command {
	c := m.credits(balanceChange{m.customer(t), rapid.IntRange(1, 100).Draw(t, "amount"), ""})
	model := func() core.Code { return undone }
	return m.newCommand("undone credit", model, func(ctx context.Context, _ string) (bool, error) {
		repeated, err := c.send(ctx)
		if err != nil {
			return repeated, err
		}
		return repeated, core.Refuse(undone, "")
	})
}

func (m *machine) charges(c balanceChange) *command {
	model := func() core.Code { return m.charge(c) }
	return m.newCommand("charge", model, func(ctx context.Context, key string) (bool, error) {
		_, repeated, err := m.real.payments.ChargeBalance(ctx, system, c.command(key))
		return repeated, err
	})
}

func (c balanceChange) command(key string) payment.ChangeBalance {
	return payment.ChangeBalance{CustomerID: c.customer, Amount: roubles(c.amount), Reference: c.reference, Key: key}
}

func (m *machine) placeOrder(t *rapid.T) *command {
	s := &orderState{customer: m.customer(t), reference: m.reference(t)}
	for _, sku := range m.skus {
		if n := rapid.IntRange(0, 4).Draw(t, sku); n > 0 {
			s.items = append(s.items, order.Item{SKU: sku, Quantity: n})
		}
	}
	if len(s.items) == 0 {
		s.items = []order.Item{{SKU: m.skus[0], Quantity: 1}}
	}
	model := func() core.Code { return m.order(s) }
	c := m.newCommand("order", model, func(ctx context.Context, key string) (bool, error) {
		o, repeated, err := m.real.orders.CreateOrder(ctx, buyer(s), order.CreateOrder{Items: s.items, Reference: s.reference, Key: key})
		if err == nil {
			s.id = o.ID
		}
		return repeated, err
	})
	c.buyer = s.customer
	return c
}

func buyer(s *orderState) core.Actor {
	return core.Actor{Subject: s.customer, Roles: []core.Role{core.Customer}}
}

func (m *machine) confirmOrder(t *rapid.T) *command {
	s := m.someOrder(t)
	model := func() core.Code { return m.confirm(s) }
	return m.newCommand("confirm", model, func(ctx context.Context, key string) (bool, error) {
		cmd := payment.ConfirmPayment{OrderID: s.id, Method: payment.FromBalance, Key: key}
		_, repeated, err := m.real.payments.ConfirmPayment(ctx, buyer(s), cmd)
		return repeated, err
	})
}

func (m *machine) extendReservation(t *rapid.T) *command {
	s := m.someOrder(t)
	model := func() core.Code { return m.extend(s) }
	return m.newCommand("extend", model, func(ctx context.Context, key string) (bool, error) {
		_, repeated, err := m.real.orders.ReserveInventory(ctx, buyer(s), order.ReserveInventory{OrderID: s.id, Key: key})
		return repeated, err
	})
}

func (m *machine) refundOrder(t *rapid.T) *command {
	s, amount := m.someOrder(t), fullRefund
	cmd := payment.RefundPayment{OrderID: s.id}
	if rapid.Bool().Draw(t, "a part") {
		amount = rapid.IntRange(1, 100).Draw(t, "amount")
		cmd.Amount = new(roubles(amount))
	}
	actor := buyer(s)
	if rapid.Bool().Draw(t, "by an administrator") {
		actor = admin
	}
	model := func() core.Code { return m.refund(s, amount, actor.Has(core.Admin)) }
	return m.newCommand("refund", model, func(ctx context.Context, key string) (bool, error) {
		cmd := cmd
		cmd.Key = key
		_, repeated, err := m.real.payments.RefundPayment(ctx, actor, cmd)
		return repeated, err
	})
}

func (m *machine) cancelOrder(t *rapid.T) *command {
	s := m.someOrder(t)
	model := func() core.Code { return m.cancel(s) }
	return m.newCommand("cancel", model, func(ctx context.Context, key string) (bool, error) {
		_, repeated, err := m.real.payments.CancelOrder(ctx, seller, payment.CancelOrder{OrderID: s.id, Key: key})
		return repeated, err
	})
}
