package step

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/idempotency"
)

func roubles(n int) core.Money {
	m, err := core.ParseMoney(fmt.Sprint(n), "RUB")
	if err != nil {
		panic(err)
	}
	return m
}

// changeBalance is a credit or a charge.
func changeBalance(operation string, by core.Actor, customer string, amount int, reference string,
	use func(*payment.Service, context.Context, core.Actor, payment.ChangeBalance) (*payment.LedgerEntry, bool, error),
) *command {
	return &command{name: strings.TrimSpace(fmt.Sprintf("%s of %s by %d %s", operation, customer, amount, reference)), by: by,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			e, _, err := use(s.payments, ctx, c.by, payment.ChangeBalance{
				CustomerID: customer, Amount: roubles(amount), Reference: reference, Key: c.key})
			if err != nil {
				return "", err
			}
			return "balance " + e.BalanceAfter.String(), nil
		}}
}

func credit(by core.Actor, customer string, amount int, reference string) *command {
	return changeBalance("creditBalance", by, customer, amount, reference, (*payment.Service).CreditBalance)
}

func charge(by core.Actor, customer string, amount int) *command {
	return changeBalance("chargeBalance", by, customer, amount, "", (*payment.Service).ChargeBalance)
}

// undone is a credit that is refused after it has written.
func undone(customer string) *command {
	c := credit(bank, customer, 11, "")
	write := c.run
	c.name = "creditBalance of " + customer + ", undone"
	c.run = func(ctx context.Context, s *service, of names, c *command) (string, error) {
		if text, err := write(ctx, s, of, c); err != nil {
			return text, err
		}
		return "", core.Refuse("undone", "")
	}
	return c
}

// place orders products for a customer.
func place(by core.Actor, customer string, items ...order.Item) *command {
	return &command{name: fmt.Sprintf("createOrder for %s of %v", customer, items), by: by,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			o, _, err := s.orders.CreateOrder(ctx, c.by, order.CreateOrder{CustomerID: customer, Items: items, Key: c.key})
			if err != nil {
				return "", err
			}
			c.order = o.ID
			return fmt.Sprintf("%s %s", o.Status, o.Total), nil
		}}
}

// onOrder is a command about a named order.
func onOrder(name string, by core.Actor, of string,
	run func(ctx context.Context, s *service, id int64, c *command) (string, error),
) *command {
	return &command{name: name + " of " + of, by: by,
		run: func(ctx context.Context, s *service, ids names, c *command) (string, error) {
			return run(ctx, s, ids[of], c)
		}}
}

func statusOf(o *order.Order, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return string(o.Status), nil
}

func confirm(by core.Actor, of string) *command {
	return pay("confirmPayment", by, of, payment.ConfirmPayment{Method: payment.FromBalance})
}

func confirmByCard(by core.Actor, of string) *command {
	card := payment.ConfirmPayment{Method: payment.ByCard, CardToken: "pm_card_visa"} //nolint:gosec // Stripe's test card
	return pay("confirmPayment by card", by, of, card)
}

func pay(name string, by core.Actor, of string, cmd payment.ConfirmPayment) *command {
	return onOrder(name, by, of, func(ctx context.Context, s *service, id int64, c *command) (string, error) {
		cmd := cmd
		cmd.OrderID, cmd.Key = id, c.key
		p, _, err := s.payments.ConfirmPayment(ctx, c.by, cmd)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s", p.Status, p.Amount), nil
	})
}

func refund(by core.Actor, of string, amount int) *command {
	return onOrder("refundPayment", by, of, func(ctx context.Context, s *service, id int64, c *command) (string, error) {
		cmd := payment.RefundPayment{OrderID: id, Full: amount == 0, Key: c.key}
		if amount > 0 {
			cmd.Amount = new(roubles(amount))
		}
		r, _, err := s.payments.RefundPayment(ctx, c.by, cmd)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %s", r.Status, r.Amount), nil
	})
}

func cancel(by core.Actor, of string) *command {
	return onOrder("cancelOrder", by, of, func(ctx context.Context, s *service, id int64, c *command) (string, error) {
		o, _, err := s.payments.CancelOrder(ctx, c.by, payment.CancelOrder{OrderID: id, Key: c.key})
		return statusOf(o, err)
	})
}

func extend(by core.Actor, of string) *command {
	return onOrder("reserveInventory", by, of, func(ctx context.Context, s *service, id int64, c *command) (string, error) {
		o, _, err := s.orders.ReserveInventory(ctx, c.by, order.ReserveInventory{OrderID: id, Key: c.key})
		return statusOf(o, err)
	})
}

func advance(by core.Actor, of string, to order.Status) *command {
	return onOrder("updateOrderStatus to "+string(to), by, of, func(ctx context.Context, s *service, id int64, c *command) (string, error) {
		return statusOf(s.orders.UpdateOrderStatus(ctx, c.by, order.UpdateOrderStatus{OrderID: id, Status: to}))
	})
}

func readOrder(by core.Actor, of string) *command {
	return onOrder("getOrderById", by, of, func(ctx context.Context, s *service, id int64, c *command) (string, error) {
		return statusOf(s.orders.GetOrderByID(ctx, c.by, id))
	})
}

func adjust(by core.Actor, sku string, change int) *command {
	return &command{name: fmt.Sprintf("adjustStock of %s by %d", sku, change), by: by,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			a, _, err := s.orders.AdjustStock(ctx, c.by, order.AdjustStock{SKU: sku, Change: int64(change), Key: c.key})
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d on hand", a.OnHand), nil
		}}
}

// put creates a product or replaces its price. It has no key.
func put(by core.Actor, sku string, onHand, price int) *command {
	return &command{name: fmt.Sprintf("putProduct %s", sku), by: by,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			_, _, err := s.orders.PutProduct(ctx, c.by, order.PutProduct{
				SKU: sku, Name: sku, Price: roubles(price), OnHand: new(int64(onHand))})
			return "put", err
		}}
}

func readStock(sku string) *command {
	return &command{name: "getProduct " + sku, by: bob,
		run: func(ctx context.Context, s *service, _ names, _ *command) (string, error) {
			p, err := s.orders.GetProduct(ctx, sku)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d on hand, %d reserved", p.OnHand, p.Reserved), nil
		}}
}

func readBalance(of core.Actor) *command {
	return &command{name: "getBalance of " + of.Subject, by: of,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			balances, err := s.payments.GetBalance(ctx, c.by, c.by.Subject)
			var all []string
			for _, b := range balances {
				all = append(all, b.Amount.String())
			}
			return strings.Join(all, " "), err
		}}
}

// lookUp reads the outcome under a key that other commands use.
func lookUp(by core.Actor, key string) *command {
	return &command{name: "getIdempotencyKey " + key, by: by,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			rec, found, err := s.keys.Lookup(ctx, idempotency.ID{Scope: idempotency.NewScope("issuer", c.by.Subject), Key: key})
			if err != nil || !found {
				return "none", err
			}
			return string(rec.Body), nil
		}}
}

// restockedAt is later than everything that the inbox has forgotten, and earlier than the
// clocks of memory and database.
var restockedAt = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// restock is a message of the warehouse, which may come twice.
func restock(sku string) *command {
	return &command{name: "restock " + sku, by: admin,
		run: func(ctx context.Context, s *service, _ names, _ *command) (string, error) {
			err := s.orders.Restock(ctx, order.Restock{SKU: sku, Quantity: 3, Message: core.Message{Source: "warehouse", ID: "1", SentAt: restockedAt}})
			if errors.Is(err, order.ErrRestockedBefore) {
				err = nil
			}
			return "restocked", err
		}}
}

// releaseExpired is a run of the job.
func releaseExpired() *command {
	return &command{name: "releaseExpiredReservations", by: admin,
		run: func(ctx context.Context, s *service, _ names, _ *command) (string, error) {
			_, _, err := s.orders.ReleaseExpiredReservations(ctx, order.Expiry{}, 100)
			return "released", err
		}}
}

// publish is a turn of the relay.
func publish() *command {
	return &command{name: "publish events", by: admin,
		run: func(ctx context.Context, s *service, _ names, _ *command) (string, error) {
			if s.publish == nil {
				return "published", nil
			}
			return "published", s.publish(ctx)
		}}
}
