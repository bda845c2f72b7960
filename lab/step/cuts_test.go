package step

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment/cards"
)

// scenarios are commands that run one after the other: each of the catalogue alone, those
// that need others before them, and those whose repetition must undo nothing.
func scenarios() map[string][]*command {
	tea := order.Item{SKU: "tea", Quantity: 2}
	all := map[string][]*command{
		"settleRefund":  {settle(bob, "charging"), refund(bob, "charging", 0), settleRefund(bob, "charging")},
		"refundedThere": {settle(bob, "charging"), refund(admin, "charging", 4), refundedThere(bob, "charging", 6)},
		"dispute":       {settle(bob, "charging"), disputed(bob, cards.DisputeNeedsResponse), disputed(bob, cards.DisputeLost)},
		"restock":       {put(seller, "new", 1, 3), restock("new"), restock("new")},
		"restock, sold": {put(seller, "new", 1, 3), place(bob, "bob", order.Item{SKU: "new", Quantity: 1}), put(seller, "new", 1, 3)},
		"updateOrderStatus, late": {
			advance(seller, "paid", order.Fulfilling), advance(seller, "paid", order.Shipped), advance(seller, "paid", order.Fulfilling),
		},
		"createOrder, paid and cancelled": {place(ann, "ann", tea), confirm(ann, "unpaid"), cancel(seller, "unpaid")},
	}
	for _, topic := range catalogue {
		for _, c := range topic {
			all[c.String()] = []*command{c}
		}
	}
	return all
}

// planOf returns a plan that sends commands to one replica, the last one to the other as
// well, and then looks up its key.
func planOf(commands []*command) plan {
	p := plan{lanes: 1}
	for _, c := range commands {
		p.add(p.keyed(c), 0)
	}
	last := p.requests[len(commands)-1].command
	p.add(last, 1)
	if last.key != "" {
		p.add(lookUp(last.by, last.key), 0)
	}
	return p
}

// cut lets one command after the other run to its end, and loses a message: with its
// connection ("cut"), or with the server's process ("kill").
type cut struct {
	script
	fault  string
	passed int    // messages that pass before
	lost   string // the step that loses it
}

func (c *cut) choose(enabled []string) string {
	step := c.script.choose(enabled)
	verb, link, _ := strings.Cut(step, " ")
	if c.lost != "" || verb != "pass" && verb != "reply" {
		return step
	}
	if c.passed > 0 {
		c.passed--
		return step
	}
	c.lost = c.fault + " " + link
	return c.lost
}

// Each message of a scenario is lost once, in both ways. Clients send again, and jobs run
// again. The short form draws some scenarios.
func TestCuts_LeaveOneEffect(t *testing.T) {
	w, all := newWorld(t), scenarios()
	names := slices.Sorted(maps.Keys(all))
	if testing.Short() {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:3]
	}
	cuts := 0
	for _, name := range names {
		p := planOf(all[name])
		for _, fault := range []string{"cut", "kill"} {
			for n := 0; ; n++ {
				c := &cut{fault: fault, passed: n}
				r := w.execute(t, p, c.choose)
				if len(r.found) > 0 {
					t.Fatalf("%s, message %d: %q:\n%s\n%s\n%s", name, n, c.lost, strings.Join(r.found, "\n"), r.trace(), r.diagram())
				}
				if c.lost == "" { // all have passed
					break
				}
				cuts++
			}
		}
	}
	if cuts < len(names) {
		t.Errorf("%d cuts of %d scenarios", cuts, len(names))
	}
	t.Logf("figures: %d cuts of %d scenarios", cuts, len(names))
}
