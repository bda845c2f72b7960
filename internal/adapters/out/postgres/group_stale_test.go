package postgres_test

import (
	"context"
	"testing"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core/order"
)

// sell is an order that the shop makes for a customer.
func sell(customer, sku string, quantity int) command {
	return newCommand("createOrder", func(ctx context.Context, u useCases, key string) (string, error) {
		_, _, err := u.orders.CreateOrder(ctx, shop, order.CreateOrder{
			CustomerID: customer, Items: []order.Item{{SKU: sku, Quantity: quantity}}, Key: key,
		})
		return "", err
	})
}

// awaitLock waits until a query of the store waits for a lock.
func (d *database) awaitLock(t *testing.T, query string) {
	t.Helper()
	d.await(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
		AND wait_event_type = 'Lock' AND query LIKE '-- name: `+query+` :%'`, 1)
}

// A group reads the products of its sellers' orders twice: with a lock those that are the
// seller's, and without one those that are not. A product that is created in between has
// been locked by neither, so nobody in the group may sell it.
func TestGroup_SellsNothingThatItHasNotLocked(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g, elsewhere := grouped(t, d.url+"&pool_max_conns=8", 1), grouped(t, d.url, 0)
	elsewhere.stock(t, "cup", 10)
	elsewhere.alone(t, credit("ann", "1.00"))
	g.Keys().WaitLongForRows()
	giveUpCup := d.hold(t, "SELECT FROM product WHERE sku = 'cup' FOR UPDATE")
	giveUpBalance := d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")
	release := g.gather(t)
	defer release()
	var answered []<-chan answer
	for _, c := range []command{sell("bob", "tea", 2), buy("eve", "tea", 3), buy("bob", "cup", 1), credit("ann", "1.00")} {
		answered = append(answered, g.queue(t, t.Context(), c))
	}
	release()
	d.awaitLock(t, "LockStock")
	elsewhere.stock(t, "tea", 10)
	giveUpCup()
	d.awaitLock(t, "LockBalances")
	elsewhere.alone(t, buy("joe", "tea", 9))
	giveUpBalance()

	answers := collect(t, answered)

	expect(t, answers[2:], done, done)
	d.expectCount(t, "SELECT reserved FROM product WHERE sku = 'tea'", 9)
	d.expectCount(t, "SELECT sum(quantity) FROM order_item WHERE sku = 'tea'", 9)
}

// changedBehind returns the command with a statement that changes behind its back what it has
// read. It is executed once, in the transaction of the command.
func (c command) changedBehind(sql string) command {
	changed, first := false, c.run
	c.run = func(ctx context.Context, u useCases, key string) (string, error) {
		body, err := first(ctx, u, key)
		if err != nil || changed {
			return body, err
		}
		changed = true
		return body, postgres.ExecuteIn(ctx, sql)
	}
	return c
}

// What a group writes is computed from what it has read. If a row is another one by then,
// the group fails as a whole, and its commands run by themselves.
func TestGroup_WritesOverNothingThatItHasNotRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command func(orderID int64) command
		behind  string
		count   string
		want    int
	}{
		"stock":   {func(int64) command { return buy("ann", "tea", 2) }, "UPDATE product SET reserved = reserved + 1", "SELECT reserved FROM product", 3},
		"price":   {func(int64) command { return buy("ann", "tea", 2) }, "UPDATE product SET price = 7, version = version + 1", "SELECT version FROM product", 1},
		"balance": {func(int64) command { return credit("ann", "2.00") }, "UPDATE balance SET position = position + 1", "SELECT position FROM balance WHERE customer_id = 'ann'", 2},
		"order":   {func(id int64) command { return cancel("ann", id) }, "UPDATE orders SET version = version + 1", "SELECT version FROM orders", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			g := grouped(t, d.url, 1)
			g.stock(t, "tea", 10)
			g.alone(t, credit("ann", "5.00"))
			orderID := g.alone(t, buy("ann", "tea", 1))

			answers := g.together(t, c.command(orderID).changedBehind(c.behind), credit("bob", "1.00"))

			expect(t, answers, done, done)
			d.expectCount(t, c.count, c.want)
			if _, splits := g.groups(); splits != 1 {
				t.Errorf("%d splits; want that of the group that failed", splits)
			}
		})
	}
}
