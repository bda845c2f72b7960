package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core/order"
)

// expect compares the outcomes of commands with what they should be.
func expect(t *testing.T, answers []answer, want ...string) {
	t.Helper()
	var found []string
	for i, a := range answers {
		t.Logf("command %d: %v", i, a.err)
		found = append(found, a.outcome())
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// expectCount compares the number that a query returns.
func (d *database) expectCount(t *testing.T, query string, want int) {
	t.Helper()
	if n := d.count(t, query); n != want {
		t.Errorf("%s returned %d, want %d", query, n, want)
	}
}

const records = "SELECT count(*) FROM idempotency_record"

// A command that is refused after it has changed something leaves no change to the commands
// after it, and its refusal is stored.
func TestGroup_RefusedCommandLeavesNothing(t *testing.T) {
	t.Parallel()
	const invalid = "invalid_order_state"

	t.Run("balance", func(t *testing.T) {
		t.Parallel()
		d, g := newGroup(t)
		refusedCredit := credit("ann", "10.00").then(refused)
		expect(t, g.together(t, refusedCredit, charge("ann", "10.00"), credit("ann", "2.00"), charge("ann", "2.00")),
			invalid, "insufficient_funds", done, done)
		expect(t, []answer{g.execute(t.Context(), refusedCredit)}, "replayed: "+invalid)
		d.expectCount(t, "SELECT amount::int FROM balance", 0)
		d.expectCount(t, "SELECT count(*) FROM ledger_entry", 2)
		d.expectCount(t, "SELECT count(*) FROM outbox", 2)
		d.expectCount(t, records, 4)
	})
	t.Run("stock", func(t *testing.T) {
		t.Parallel()
		d, g := newGroup(t)
		refusedOrder := buy("ann", "tea", 10).then(refused)
		expect(t, g.together(t, refusedOrder, buy("bob", "tea", 10), buy("eve", "tea", 1)), invalid, done, "out_of_stock")
		expect(t, []answer{g.execute(t.Context(), refusedOrder)}, "replayed: "+invalid)
		d.expectCount(t, "SELECT reserved FROM product", 10)
		d.expectCount(t, "SELECT count(*) FROM orders", 1)
		d.expectCount(t, records, 3)
	})
	t.Run("order", func(t *testing.T) {
		t.Parallel()
		d, g := newGroup(t)
		g.alone(t, credit("ann", "2.00"))
		orderID := g.alone(t, buy("ann", "tea", 2))
		refusedPayment := pay("ann", orderID).then(refused)
		expect(t, g.together(t, refusedPayment, pay("ann", orderID)), invalid, done)
		expect(t, []answer{g.execute(t.Context(), refusedPayment)}, "replayed: "+invalid)
		d.expectCount(t, "SELECT count(*) FROM payment", 1)
		d.expectCount(t, "SELECT amount::int FROM balance", 0)
		d.expectCount(t, "SELECT on_hand - reserved FROM product", 8)
	})
}

// A refund has no form for many rows. The next command about its order runs after it, in a
// transaction of its own.
func TestGroup_OrderIsNotRefundedBeyondItsPayment(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	g.alone(t, credit("ann", "2.00"))
	orderID := g.alone(t, buy("ann", "tea", 2))
	g.alone(t, pay("ann", orderID))
	expect(t, g.together(t, refund("ann", orderID, "1.50"), refund("ann", orderID, "1.00"), credit("ann", "1.00")),
		done, "refund_exceeds_payment", done)
	d.expectCount(t, "SELECT (sum(amount) * 100)::int FROM refund", 150)
	d.expectCount(t, "SELECT (amount * 100)::int FROM balance", 250)

	// Several commands may want the earlier refund of one order. It counts once.
	expect(t, g.together(t, refund("ann", orderID, "1.00"), refund("ann", orderID, "0.50")), "refund_exceeds_payment", done)
	d.expectCount(t, "SELECT (sum(amount) * 100)::int FROM refund", 200)
}

func TestGroup_CountsTheUnpaidOrdersOfItsCommands(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	g.orders.MaxUnpaidOrders = 2
	g.alone(t, credit("ann", "5.00"))
	orderID := g.alone(t, buy("ann", "tea", 1))
	limit := "unpaid_orders_limit"
	expect(t, g.together(t,
		buy("ann", "tea", 1), buy("ann", "tea", 1), buy("bob", "tea", 1), pay("ann", orderID), buy("ann", "tea", 1), buy("ann", "tea", 1)),
		done, limit, done, done, done, limit)
	d.expectCount(t, "SELECT count(*) FROM orders WHERE customer_id = 'ann' AND status = 'pending_payment'", 2)
}

// The second line of defence works within a group: an operation takes effect once, even
// if it has two idempotency records.
func TestGroup_OperationUnderTwoScopesTakesEffectOnce(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	g.alone(t, credit("bob", "5.00"))
	orderID := g.alone(t, buy("bob", "tea", 1))
	credited, bought, paid := credit("ann", "1.00"), buy("ann", "tea", 1), pay("bob", orderID)
	answers := g.together(t, credited, credited.by("other issuer"), bought, bought.by("other issuer"), paid, paid.by("other issuer"))
	expect(t, answers, done, done, done, done, done, done)
	g.expectNoSplit(t)
	for i := 0; i < len(answers); i += 2 {
		if first, second := string(answers[i].rec.Body), string(answers[i+1].rec.Body); first != second {
			t.Errorf("one operation has the ids %s and %s", first, second)
		}
	}
	d.expectCount(t, "SELECT count(*) FROM ledger_entry", 3) // two credits and a payment
	d.expectCount(t, "SELECT count(*) FROM orders", 2)
	d.expectCount(t, "SELECT count(*) FROM payment", 1)
}

// Each effect is stored with its key, by the statements for many rows. When the record has
// expired, a repetition finds the effect by the key.
func TestGroup_OperationIsFoundByItsKeyAfterItsRecord(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	var members, repeated []command
	for _, customer := range []string{"ann", "bob"} {
		g.alone(t, credit(customer, "5.00"))
		toPay, toCancel := g.alone(t, buy(customer, "tea", 1)), g.alone(t, buy(customer, "tea", 1))
		members = append(members, credit(customer, "1.00"), buy(customer, "tea", 1), pay(customer, toPay), cancel(customer, toCancel))
	}
	for _, c := range members {
		repeated = append(repeated, c.by("a principal without records"))
	}
	effects := []string{
		"SELECT count(*) FROM ledger_entry", "SELECT count(*) FROM orders", "SELECT count(*) FROM payment",
		"SELECT count(*) FROM orders WHERE status = 'cancelled'",
	}

	first := g.together(t, members...)
	g.expectNoSplit(t)
	counts := make([]int, len(effects))
	for i, query := range effects {
		counts[i] = d.count(t, query)
	}
	again := g.together(t, repeated...)

	for i, a := range again {
		if a.outcome() != done || a.replayed || string(a.rec.Body) != string(first[i].rec.Body) {
			t.Errorf("%s: %s %q, replayed %t; want %q again", members[i].claim.Operation, a.outcome(), a.rec.Body, a.replayed, first[i].rec.Body)
		}
	}
	for i, query := range effects {
		d.expectCount(t, query, counts[i])
	}
}

// The events of a group are in the order of its commands. Consumers see those of a balance in
// the order of its changes.
func TestGroup_WritesEventsInTheOrderOfItsCommands(t *testing.T) {
	t.Parallel()
	d, g := newGroup(t)
	expect(t, g.together(t, credit("ann", "5.00"), credit("bob", "1.00"), charge("ann", "3.00"), credit("ann", "1.00")),
		done, done, done, done)
	want := []string{
		"balance.credit balance/ann/RUB", "balance.credit balance/bob/RUB", "balance.charge balance/ann/RUB", "balance.credit balance/ann/RUB",
	}
	if diff := cmp.Diff(want, d.events(t)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
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
	g.Places.RecordPace(time.Hour)
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
			d, g := newGroup(t)
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
