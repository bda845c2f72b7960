package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core/order"
)

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
	g.RecordPace(time.Hour)
	giveUpCup := d.hold(t, "SELECT FROM product WHERE sku = 'cup' FOR UPDATE")
	giveUpBalance := d.hold(t, "SELECT FROM balance WHERE customer_id = 'ann' FOR UPDATE")
	sold := createOrder(shop, order.CreateOrder{CustomerID: "bob", Items: []order.Item{{SKU: "tea", Quantity: 2}}})
	members := g.begin(t, sold, buy("eve", "tea", 3), buy("bob", "cup", 1), credit("ann", "1.00"))
	d.awaitLock(t, "LockStock")
	elsewhere.stock(t, "tea", 10)
	giveUpCup()
	d.awaitLock(t, "LockBalance")
	elsewhere.alone(t, buy("joe", "tea", 9))
	giveUpBalance()

	expect(t, collect(t, members), "unknown_sku", "unknown_sku", done, done)
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
// the group fails as a whole, and its commands run by themselves. A statement writes one
// row, and another one several.
func TestGroup_WritesOverNothingThatItHasNotRead(t *testing.T) {
	t.Parallel()
	const (
		stock    = "UPDATE product SET reserved = reserved + 1"
		price    = "UPDATE product SET price = 7, version = version + 1"
		balances = "UPDATE balance SET position = position + 1"
		orders   = "UPDATE orders SET version = version + 1"
	)
	for name, c := range map[string]struct {
		behind string
		group  func(orderIDs []int64) []command
		count  string
		want   int
	}{
		"stock": {
			stock, func([]int64) []command { return []command{buy("ann", "tea", 2), credit("new", "1.00")} },
			"SELECT reserved FROM product", 4,
		},
		"price": {
			price, func([]int64) []command { return []command{buy("ann", "tea", 2), credit("new", "1.00")} },
			"SELECT version FROM product", 1,
		},
		"balance": {
			balances, func([]int64) []command { return []command{credit("ann", "2.00"), credit("new", "1.00")} },
			"SELECT max(position) FROM balance", 2,
		},
		"balances": {
			balances, func([]int64) []command { return []command{credit("ann", "2.00"), credit("bob", "1.00")} },
			"SELECT max(position) FROM balance", 2,
		},
		"order": {
			orders, func(ids []int64) []command { return []command{cancel("ann", ids[0]), credit("new", "1.00")} },
			"SELECT max(version) FROM orders", 2,
		},
		"orders": {
			orders, func(ids []int64) []command { return []command{cancel("ann", ids[0]), cancel("ann", ids[1])} },
			"SELECT max(version) FROM orders", 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			g := grouped(t, d.url, 1)
			g.stock(t, "tea", 10)
			g.alone(t, credit("ann", "5.00"))
			g.alone(t, credit("bob", "5.00"))
			orderIDs := []int64{g.alone(t, buy("ann", "tea", 1)), g.alone(t, buy("ann", "tea", 1))}
			members := c.group(orderIDs)
			members[0] = members[0].changedBehind(c.behind)

			answers := g.together(t, members...)

			expect(t, answers, done, done)
			d.expectCount(t, c.count, c.want)
			if _, splits := g.groups(); splits != 1 {
				t.Errorf("%d splits; want that of the group that failed", splits)
			}
		})
	}
}
