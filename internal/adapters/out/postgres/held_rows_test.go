package postgres_test

import (
	"fmt"
	"slices"
	"testing"

	testwait "example.com/orders/internal/test/wait"
)

// lockTimeouts returns how many transactions have reached their lock timeout.
func (o *observer) lockTimeouts() (n int) {
	o.note(func() {
		for _, reason := range o.restarts {
			if reason == "lock_timeout" {
				n++
			}
		}
	})
	return n
}

// holdMarked holds rows, and returns when a command is known to wait for one of them.
func (g *grouping) holdMarked(t *testing.T, d *database, rows string, waiter command) (waiting <-chan answer, giveUp func()) {
	t.Helper()
	giveUp = d.hold(t, rows)
	before := g.lockTimeouts()
	waiting = g.start(t.Context(), waiter)
	testwait.Until(t, "the command has reached its lock timeout", func() bool { return g.lockTimeouts() > before })
	d.awaitWaiters(t, 1) // it waits again, outside the lanes
	return waiting, giveUp
}

// ordersOfTea creates unpaid orders, one for each customer, who can pay it.
func (g *grouping) ordersOfTea(t *testing.T, customers ...string) (ids []int64) {
	t.Helper()
	for _, customer := range customers {
		g.alone(t, credit(customer, "5.00"))
		ids = append(ids, g.alone(t, buy(customer, "tea", 1)))
	}
	return ids
}

// Payments, cancellations and refunds name their order. What they wait for is its product.
func TestHeldRow_IsRecognisedBehindAnOrder(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=8", 1) // four may wait for rows
	g.stock(t, "tea", 100)
	orders := g.ordersOfTea(t, "ann", "bob", "joe", "kim", "lou")
	g.alone(t, pay("kim", orders[3]))
	ann, giveUp := g.holdMarked(t, d, "SELECT FROM product WHERE sku = 'tea' FOR UPDATE", pay("ann", orders[0]))

	waiting := []<-chan answer{ann}
	for _, c := range []command{pay("bob", orders[1]), cancel("joe", orders[2]), refund("kim", orders[3], "1.00")} {
		waiting = append(waiting, g.start(t.Context(), c))
		d.awaitWaiters(t, len(waiting))
	}
	members := g.begin(t, credit("eve", "1.00"), pay("lou", orders[4]), buy("max", "tea", 1))
	expect(t, collect(t, members[:1]), done)

	if _, splits := g.groups(); splits > 0 || g.lockTimeouts() != 1 {
		t.Errorf("%d lock timeouts and %d splits, want only the first waiter's", g.lockTimeouts(), splits)
	}
	giveUp()
	expect(t, collect(t, append(waiting, members[1:]...)), done, done, done, done, done, done)
}

// A customer who is not granted an order does not wait for what its owner waits for.
func TestHeldRow_DelaysNoStranger(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=5", 1) // one may wait for rows
	g.stock(t, "tea", 100)
	orders := g.ordersOfTea(t, "ann")
	ann, giveUp := g.holdMarked(t, d, "SELECT FROM product WHERE sku = 'tea' FOR UPDATE", pay("ann", orders[0]))
	if a := receive(t, g.start(t.Context(), pay("eve", orders[0]))); a.outcome() == done {
		t.Errorf("eve paid ann's order: %v", a.err)
	}
	giveUp()
	expect(t, []answer{receive(t, ann)}, done)
}

// A group learns which kind of row it waited for. Its other members run together at once.
func TestGroup_SplitsOffThoseThatMayWantTheHeldRow(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=8", 1)
	g.stock(t, "tea", 100)
	orders := g.ordersOfTea(t, "ann", "bob")
	giveUp := d.hold(t, "SELECT FROM product WHERE sku = 'tea' FOR UPDATE")

	members := g.begin(t, credit("eve", "1.00"), pay("ann", orders[0]), credit("joe", "1.00"), pay("bob", orders[1]), credit("kim", "1.00"))
	expect(t, collect(t, []<-chan answer{members[0], members[2], members[4]}), done, done, done)

	giveUp()
	expect(t, collect(t, []<-chan answer{members[1], members[3]}), done, done)
	if sizes, _ := g.groups(); !slices.Equal(sizes, []int{5, 3, 2}) {
		t.Errorf("groups of %v, want all, the credits, and the payments", sizes)
	}
}

// A command that waits for a product keeps its creator's lock. That is no reason for others
// who order coffee to leave their groups.
func TestHeldRow_MayBeACreator(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=8", 1)
	g.stock(t, "tea", 100)
	g.stock(t, "coffee", 100)
	first, giveUp := g.holdMarked(t, d, "SELECT FROM product WHERE sku = 'tea' FOR UPDATE", buy("ann", "tea", 1))
	second := g.start(t.Context(), buy("ann", "coffee", 1))
	d.awaitWaiters(t, 2)
	testwait.Until(t, "ann's second order has left its lane", func() bool { return g.lockTimeouts() == 2 })

	bobs, eves := buy("bob", "coffee", 1), credit("eve", "1.00")
	third := g.begin(t, buy("ann", "coffee", 1), bobs, eves)

	expect(t, collect(t, third[1:]), done, done)
	d.expectCount(t, fmt.Sprintf("SELECT count(DISTINCT xmin::text) FROM idempotency_record WHERE key IN ('%s', '%s')",
		bobs.claim.Key, eves.claim.Key), 1) // in one transaction
	if sizes, splits := g.groups(); splits > 0 || g.lockTimeouts() != 2 || !slices.Equal(sizes, []int{3}) {
		t.Errorf("groups of %v, %d splits, %d lock timeouts", sizes, splits, g.lockTimeouts())
	}
	giveUp()
	expect(t, collect(t, []<-chan answer{first, second, third[0]}), done, done, done)
}

// Whoever wants the held row waits. However many they are, they cost the lanes little.
func TestHeldRow_ManyWaitersCostFewLockTimeouts(t *testing.T) {
	t.Parallel()
	const customers = 24
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=8", 2)
	g.stock(t, "tea", 100)
	var names []string
	for i := range customers {
		names = append(names, fmt.Sprint("customer-", i))
	}
	orders := g.ordersOfTea(t, names...)
	giveUp := d.hold(t, "SELECT FROM product WHERE sku = 'tea' FOR UPDATE")
	var waiting []<-chan answer
	for i, name := range names {
		waiting = append(waiting, g.start(t.Context(), pay(name, orders[i])), g.start(t.Context(), buy("of "+name, "tea", 1)))
		eve, joe := g.start(t.Context(), credit("eve", "1.00")), g.start(t.Context(), credit("joe", "1.00"))
		receive(t, eve)
		receive(t, joe)
	}
	if n := g.lockTimeouts(); n == 0 || n > len(waiting)/2 {
		t.Errorf("%d waiters cost %d lock timeouts", len(waiting), n)
	}
	giveUp()
	for _, a := range collect(t, waiting) {
		if a.outcome() != done {
			t.Errorf("a waiter got %s, %v", a.outcome(), a.err)
		}
	}
}
