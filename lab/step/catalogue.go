package step

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment/cards"
)

// setUp is the state at the beginning of every run.
func setUp() []*command {
	tea, cup := order.Item{SKU: "tea", Quantity: 1}, order.Item{SKU: "cup", Quantity: 1}
	commands := []*command{
		put(seller, "tea", 7, 10), put(seller, "cup", 3, 25),
		credit(bank, "ann", 100, ""), credit(bank, "bob", 30, ""),
		place(ann, "ann", tea), place(ann, "ann", tea, cup), place(bob, "bob", tea), place(ann, "ann", cup), place(bob, "bob", tea),
		confirm(ann, "paid"), confirm(bob, "shipped"),
		subscribe(orderedReceiver, true, "order.*"), subscribe(receiver, false, "*"),
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

// catalogue is every command of a run, by the row that it is about.
var catalogue = map[string][]*command{
	"balance": {
		credit(bank, "ann", 7, ""), credit(bank, "ann", 5, "salary"), charge(bank, "ann", 60), charge(bank, "bob", 15), undone("ann"),
		confirm(ann, "unpaid"), refund(ann, "paid", 20), readBalance(ann),
	},
	"stock": {
		place(ann, "ann", order.Item{SKU: "tea", Quantity: 2}), place(bob, "bob", order.Item{SKU: "tea", Quantity: 2}),
		place(bob, "bob", order.Item{SKU: "cup", Quantity: 1}, order.Item{SKU: "tea", Quantity: 1}),
		place(seller, "ann", order.Item{SKU: "cup", Quantity: 1}),
		adjust(seller, "tea", -3), adjust(stranger, "tea", -1), adjust(seller, "cup", 2), cancel(seller, "paid"), readStock("tea"),
	},
	"product": {
		put(seller, "new", 1, 3), put(stranger, "new", 1, 4), place(bob, "bob", order.Item{SKU: "new", Quantity: 1}),
		place(seller, "bob", order.Item{SKU: "new", Quantity: 1}), adjust(seller, "new", 1), readStock("new"),
	},
	"bounds": { // of unpaid orders and extensions
		place(ann, "ann", order.Item{SKU: "tea", Quantity: 1}), place(ann, "ann", order.Item{SKU: "cup", Quantity: 1}),
		extend(ann, "unpaid"), extend(ann, "expired"), cancel(ann, "unpaid"),
	},
	"provider": { // moves money that nobody here has asked for
		settle(bob, "charging"), refundedThere(bob, "charging", 6), disputed(bob, cards.DisputeNeedsResponse),
		disputed(bob, cards.DisputeLost), refund(admin, "charging", 4), settleRefund(bob, "charging"),
		cancel(seller, "charging"), advance(seller, "charging", order.Fulfilling),
		polled("polledRefund", bob, "charging", refundThere(6)), polled("polledDispute", bob, "charging", dispute(cards.DisputeNeedsResponse)),
	},
	"deliveries": { // to webhook endpoints; two events of an order wait
		deliver("deliver events", time.Minute), deliver("deliver events, lost at once", 0), advance(seller, "shipped", order.Delivered),
		confirm(ann, "unpaid"), cancel(seller, "unpaid"), advance(seller, "paid", order.Fulfilling),
	},
	"unpaid":   about("unpaid", ann, order.Fulfilling, settle(ann, "unpaid")),
	"paid":     about("paid", ann, order.Fulfilling, cancel(stranger, "paid"), publish()),
	"shipped":  about("shipped", bob, order.Delivered),
	"expired":  about("expired", ann, order.Fulfilling, releaseExpired()),
	"charging": about("charging", bob, order.Fulfilling, settle(bob, "charging"), providerEvent(bob, "charging"), settleRefund(bob, "charging")),
}

// about returns the commands about an order, and some more.
func about(of string, owner core.Actor, next order.Status, more ...*command) []*command {
	return append(more,
		confirm(owner, of), confirmByCard(owner, of), confirm(stranger, of), cancel(seller, of), extend(owner, of),
		refund(owner, of, 0), refund(admin, of, 4), advance(seller, of, next), readOrder(owner, of))
}

// meetings returns the pairs and triples of n commands, by their numbers.
func meetings(n int) (all [][]int) {
	for i := range n {
		for j := i; j < n; j++ {
			all = append(all, []int{i, j})
			for k := j; k < n; k++ {
				all = append(all, []int{i, j, k})
			}
		}
	}
	return all
}
