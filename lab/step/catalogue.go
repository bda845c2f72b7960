package step

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"example.com/orders/internal/core/order"
)

// setUp is the state at the beginning of every run.
func setUp() []*command {
	tea, cup := order.Item{SKU: "tea", Quantity: 1}, order.Item{SKU: "cup", Quantity: 1}
	commands := []*command{
		put(seller, "tea", 7, 10), put(seller, "cup", 3, 25),
		credit(bank, "ann", 100, ""), credit(bank, "bob", 30, ""),
		place(ann, "ann", tea), place(ann, "ann", tea, cup), place(bob, "bob", tea), place(ann, "ann", cup), place(bob, "bob", tea),
		confirm(ann, "paid"), confirm(bob, "shipped"),
		advance(seller, "shipped", order.Fulfilling), advance(seller, "shipped", order.Shipped),
		confirmByCard(bob, "charging"),
	}
	for i, c := range commands {
		if c.guarded() {
			c.key = fmt.Sprintf("setup-%d", i)
		}
	}
	return commands
}

// orderNames are the names of the orders of setUp, in their order: unpaid, paid, shipped, one
// with an expired reservation, and one whose card is not charged yet.
var orderNames = []string{"unpaid", "paid", "shipped", "expired", "charging"}

// prepare runs the commands of setUp. It calls before with the name of each order before
// that is created.
func (s *service) prepare(ctx context.Context, before func(name string)) (names, error) {
	of := names{}
	for _, c := range setUp() {
		if c.operation() == "createOrder" {
			before(orderNames[len(of)])
		}
		outcome, err := c.perform(ctx, s, of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		if c.order != 0 {
			of[orderNames[len(of)]] = c.order
			before("")
		}
		if strings.Contains(outcome, "_") && c.order == 0 {
			return nil, fmt.Errorf("%s: %s", c, outcome)
		}
	}
	return of, nil
}

// catalogue is everything that a run draws its commands from, by the row that they are
// about.
var catalogue = map[string][]func() *command{
	"balance": {
		func() *command { return credit(bank, "ann", 7, "") },
		func() *command { return credit(bank, "ann", 5, "salary") },
		func() *command { return charge(bank, "ann", 60) },
		func() *command { return charge(bank, "bob", 15) },
		func() *command { return undone("ann") },
		func() *command { return confirm(ann, "unpaid") },
		func() *command { return readBalance(ann) },
	},
	"stock": {
		func() *command { return place(ann, "ann", order.Item{SKU: "tea", Quantity: 2}) },
		func() *command { return place(bob, "bob", order.Item{SKU: "tea", Quantity: 2}) },
		func() *command {
			return place(bob, "bob", order.Item{SKU: "cup", Quantity: 1}, order.Item{SKU: "tea", Quantity: 1})
		},
		func() *command { return place(seller, "ann", order.Item{SKU: "cup", Quantity: 1}) },
		func() *command { return adjust(seller, "tea", -3) },
		func() *command { return adjust(stranger, "tea", -1) },
		func() *command { return adjust(seller, "cup", 2) },
		func() *command { return readStock("tea") },
	},
	"product": {
		func() *command { return put(seller, "new", 1, 3) },
		func() *command { return place(bob, "bob", order.Item{SKU: "new", Quantity: 1}) },
		func() *command { return place(seller, "bob", order.Item{SKU: "new", Quantity: 1}) },
		func() *command { return readStock("new") },
	},
	"unpaid order": {
		func() *command { return confirm(ann, "unpaid") },
		func() *command { return confirm(stranger, "unpaid") },
		func() *command { return cancel(seller, "unpaid") },
		func() *command { return extend(ann, "unpaid") },
		func() *command { return readOrder(ann, "unpaid") },
	},
	"card payment": {
		func() *command { return settle(bob, "charging") },
		func() *command { return webhook(bob, "charging") },
		func() *command { return cancel(seller, "charging") },
		func() *command { return confirm(bob, "charging") },
		func() *command { return refund(bob, "charging", 0) },
		func() *command { return confirmByCard(ann, "unpaid") },
		func() *command { return settle(ann, "unpaid") },
		func() *command { return readOrder(bob, "charging") },
	},
	"expired order": {
		func() *command { return confirm(ann, "expired") },
		func() *command { return extend(ann, "expired") },
		func() *command { return cancel(seller, "expired") },
		releaseExpired,
	},
	"paid order": {
		func() *command { return cancel(seller, "paid") },
		func() *command { return cancel(stranger, "paid") },
		func() *command { return refund(ann, "paid", 0) },
		func() *command { return refund(ann, "paid", 20) },
		func() *command { return refund(admin, "shipped", 4) },
		func() *command { return advance(seller, "paid", order.Fulfilling) },
		func() *command { return readOrder(ann, "paid") },
		publish,
	},
}

// draw returns a command, mostly about one of two topics.
func draw(random *rand.Rand, topics []string) *command {
	topic := topics[random.IntN(2)]
	if random.IntN(5) == 0 {
		topic = topics[random.IntN(len(topics))]
	}
	return catalogue[topic][random.IntN(len(catalogue[topic]))]()
}
