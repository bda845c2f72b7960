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
	"example.com/orders/internal/test/commands"
	"example.com/orders/kit/guard"
)

// use is a command with a shared call, about a named order unless it is "".
func use(name string, by core.Actor, of string, call commands.Call) *command {
	if of != "" {
		name += " of " + of
	}
	return &command{name: name, by: by, run: func(ctx context.Context, s *service, ids names, c *command) (string, error) {
		answer, err := call(ctx, s.Service, ids[of], c.key)
		c.order = answer.Created
		return answer.Text, err
	}}
}

func credit(by core.Actor, customer string, amount int, reference string) *command {
	name := strings.TrimSpace(fmt.Sprintf("creditBalance of %s by %d %s", customer, amount, reference))
	return use(name, by, "", commands.Credit(by, customer, amount, reference))
}

func charge(by core.Actor, customer string, amount int) *command {
	return use(fmt.Sprintf("chargeBalance of %s by %d", customer, amount), by, "", commands.Charge(by, customer, amount, ""))
}

// undone is a credit that is refused after it has written.
func undone(customer string) *command {
	return use("creditBalance of "+customer+", undone", bank, "", commands.Undone(commands.Credit(bank, customer, 11, ""), "undone"))
}

// place orders products for a customer.
func place(by core.Actor, customer string, items ...order.Item) *command {
	return use(fmt.Sprintf("createOrder for %s of %v", customer, items), by, "", commands.Order(by, customer, "", items))
}

func confirm(by core.Actor, of string) *command {
	return use("confirmPayment", by, of, commands.Confirm(by, payment.FromBalance, ""))
}

func confirmByCard(by core.Actor, of string) *command {
	return use("confirmPayment by card", by, of, commands.Confirm(by, payment.ByCard, "pm_card_visa"))
}

func refund(by core.Actor, of string, amount int) *command {
	return use("refundPayment", by, of, commands.Refund(by, amount, ""))
}

func cancel(by core.Actor, of string) *command {
	return use("cancelOrder", by, of, commands.Cancel(by))
}

func extend(by core.Actor, of string) *command {
	return use("reserveInventory", by, of, commands.Extend(by))
}

func advance(by core.Actor, of string, to order.Status) *command {
	return use("updateOrderStatus to "+string(to), by, of, commands.Advance(by, to))
}

func readOrder(by core.Actor, of string) *command {
	return use("getOrderById", by, of, commands.Read(by))
}

func adjust(by core.Actor, sku string, change int) *command {
	return use(fmt.Sprintf("adjustStock of %s by %d", sku, change), by, "", commands.Adjust(by, sku, change, ""))
}

// put creates a product or replaces its price. It has no key.
func put(by core.Actor, sku string, onHand, price int) *command {
	return &command{name: fmt.Sprintf("putProduct %s", sku), by: by,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			_, _, err := s.Orders.PutProduct(ctx, c.by, order.PutProduct{
				SKU: sku, Name: sku, Price: commands.Roubles(price), OnHand: new(int64(onHand))})
			return "put", err
		}}
}

func readStock(sku string) *command {
	return &command{name: "getProduct " + sku, by: bob,
		run: func(ctx context.Context, s *service, _ names, _ *command) (string, error) {
			p, err := s.Orders.GetProduct(ctx, sku)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%d on hand, %d reserved", p.OnHand, p.Reserved), nil
		}}
}

func readBalance(of core.Actor) *command {
	return &command{name: "getBalance of " + of.Subject, by: of,
		run: func(ctx context.Context, s *service, _ names, c *command) (string, error) {
			balances, err := s.Payments.GetBalance(ctx, c.by, c.by.Subject)
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
			rec, found, err := s.keys.Lookup(ctx, guard.ID{Scope: guard.NewScope("issuer", c.by.Subject), Key: key})
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
			err := s.Orders.Restock(ctx, order.Restock{SKU: sku, Quantity: 3, Message: core.Message{Source: "warehouse", ID: "1", SentAt: restockedAt}})
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
			_, _, err := s.Orders.ReleaseExpiredReservations(ctx, order.Expiry{}, 100)
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
