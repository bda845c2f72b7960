package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/orders/internal/core/order"
	testwait "example.com/orders/internal/test/wait"
)

// A transaction elsewhere holds a product. Twenty customers order it, and their commands
// wait. Everything else goes on: commands outside groups find a connection.
func TestHeldRow_StopsOnlyItsWaiters(t *testing.T) {
	t.Parallel()
	for _, conns := range []int{5, 10} {
		t.Run(fmt.Sprint(conns, " connections"), func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			g := grouped(t, fmt.Sprintf("%s&pool_max_conns=%d", d.url, conns), 2)
			g.stock(t, "tea", 100)
			giveUp := d.hold(t, "SELECT FROM product WHERE sku = 'tea' FOR UPDATE")
			waiting := g.start(t, 20, func(i int) command { return buy(customerOf("held", i), "tea", 1) })
			d.awaitWaiters(t, g.Share())

			for i := range len(waiting) { // each can find the last place taken
				expectNil(t, g.putProduct(t.Context(), fmt.Sprint("cup-", i)))
			}
			expect(t, collect(t, g.start(t, 1, func(int) command { return credit("bob", "1.00") })), done)

			giveUp()
			for i, a := range collect(t, waiting) {
				if a.outcome() != done {
					t.Errorf("order %d: %s, %v", i, a.outcome(), a.err)
				}
			}
			d.expectCount(t, "SELECT reserved FROM product WHERE sku = 'tea'", len(waiting))
		})
	}
}

// Neither do waiters stop others whose commands share no transactions: extensions of
// reservations by as many customers, and a change of the product by its seller.
func TestHeldRow_StopsOnlyItsWaitersOutsideGroups(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=5", 2)
	g.stock(t, "tea", 100)
	orderIDs := make([]int64, 10)
	for i := range orderIDs {
		orderIDs[i] = g.alone(t, buy(customerOf("extends", i), "tea", 1))
	}
	giveUp := d.hold(t, "SELECT FROM product WHERE sku = 'tea' FOR UPDATE")
	waiting := g.start(t, len(orderIDs), func(i int) command { return reserve(customerOf("extends", i), orderIDs[i]) })
	renamed := g.putProduct(t.Context(), "tea")
	d.awaitWaiters(t, g.Share())

	for i := range len(waiting) {
		expectNil(t, g.putProduct(t.Context(), fmt.Sprint("cup-", i)))
	}

	giveUp()
	for i, a := range collect(t, waiting) {
		if a.outcome() != done {
			t.Errorf("extension %d: %s, %v", i, a.outcome(), a.err)
		}
	}
	expectNil(t, renamed)
	d.expectCount(t, "SELECT count(*) FROM reservation_extension", len(waiting))
}

// A command whose request ends while it waits has had no effect.
func TestHeldRow_WaiterAnswersItsDeadline(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g := grouped(t, d.url+"&pool_max_conns=5", 2)
	g.alone(t, credit("ann", "1.00"))
	defer d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")()
	ctx, giveUp := context.WithCancel(t.Context())
	waiting := make(chan answer, 1)
	go func() { waiting <- g.execute(ctx, credit("ann", "1.00")) }()
	d.awaitWaiters(t, 1)

	giveUp()

	expect(t, []answer{receive(t, waiting)}, "unavailable")
	d.expectCount(t, "SELECT count(*) FROM ledger_entry", 1)
}

// start starts commands, each in a goroutine.
func (g *grouping) start(t *testing.T, n int, newCommand func(i int) command) []<-chan answer {
	t.Helper()
	answered := make([]<-chan answer, n)
	for i := range n {
		from := make(chan answer, 1)
		go func() { from <- g.execute(t.Context(), newCommand(i)) }()
		answered[i] = from
	}
	return answered
}

// putProduct starts to create a product, or to change its price.
func (g *grouping) putProduct(ctx context.Context, sku string) <-chan error {
	ended := make(chan error, 1)
	cmd := order.PutProduct{SKU: sku, Name: "Tea", Price: roubles("2.00")}
	if sku != "tea" {
		cmd.OnHand = new(int64(7))
	}
	go func() {
		_, _, err := g.orders.PutProduct(ctx, shop, cmd)
		ended <- err
	}()
	return ended
}

// expectNil waits for the end of what was started, which must succeed.
func expectNil(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testwait.Patience):
		t.Fatal("it did not end")
	}
}

// awaitWaiters waits until at least so many connections wait for a lock.
func (d *database) awaitWaiters(t *testing.T, n int) {
	t.Helper()
	testwait.Until(t, fmt.Sprint(n, " connections wait for a lock"), func() bool {
		return d.count(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") >= n
	})
}
