package postgres_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	testwait "example.com/orders/internal/test/wait"
)

// locking is each port that loads what a decision is about to change, and the tables whose
// rows it locks: another transaction must not decide on the same rows.
var locking = map[string]struct {
	tables []string
	lock   func(ctx context.Context, d *database, tx payment.Tx, orderID int64) error
}{
	"Orders.Basket": {[]string{"product"}, func(ctx context.Context, _ *database, tx payment.Tx, _ int64) error {
		return second(tx.Orders.Basket(ctx, order.BasketQuery{CustomerID: "ann", SKUs: []string{"tea"}, Grant: core.GrantEverybody}))
	}},
	"Orders.Lock": {[]string{"orders"}, func(ctx context.Context, _ *database, tx payment.Tx, orderID int64) error {
		return second(tx.Orders.Lock(ctx, orderID, core.GrantEverybody))
	}},
	"Reservations.Lock": {[]string{"orders", "product"}, func(ctx context.Context, _ *database, tx payment.Tx, orderID int64) error {
		return second(tx.Reservations.Lock(ctx, order.ReservationQuery{OrderID: orderID, Grant: core.GrantEverybody}))
	}},
	"OrderPayments.Lock": {[]string{"orders", "product", "balance"}, func(ctx context.Context, _ *database, tx payment.Tx, orderID int64) error {
		return second(tx.OrderPayments.Lock(ctx, orderID, core.GrantEverybody))
	}},
	"Products.Lock": {[]string{"product"}, func(ctx context.Context, _ *database, tx payment.Tx, _ int64) error {
		return second(tx.Products.Lock(ctx, "tea", core.GrantEverybody))
	}},
	"StockAdjustments.Lock": {[]string{"product"}, func(ctx context.Context, _ *database, tx payment.Tx, _ int64) error {
		return second(tx.StockAdjustments.Lock(ctx, order.StockQuery{SKU: "tea", Grant: core.GrantEverybody}))
	}},
	"Balances.Lock": {[]string{"balance"}, func(ctx context.Context, _ *database, tx payment.Tx, _ int64) error {
		return second(tx.Balances.Lock(ctx, payment.BalanceQuery{CustomerID: "ann", Currency: "RUB"}))
	}},
	"Profiles.Lock": {[]string{"customer_profile"}, func(ctx context.Context, d *database, _ payment.Tx, _ int64) error {
		return d.Customers().InTx(ctx, func(ctx context.Context, tx customer.Tx) error { // joins the transaction
			_, err := tx.Profiles.Lock(ctx, "ann")
			return err
		})
	}},
}

func second(_ any, err error) error { return err }

func TestLock_LastsAsLongAsTheTransaction(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	orderID := placeOrder(t, useCasesOn(d.DB))
	d.execute(t, "INSERT INTO customer_profile VALUES ('ann', 'Ann', 'ann@example.com', '+1', now())")
	for name, c := range locking {
		err := d.Payments().InTx(t.Context(), func(ctx context.Context, tx payment.Tx) error {
			if err := c.lock(ctx, d, tx, orderID); err != nil {
				return err
			}
			for _, table := range c.tables {
				d.isLocked(t, table)
			}
			return nil
		})
		if err != nil || t.Failed() {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// isLocked checks that another transaction holds the rows of a table.
func (d *database) isLocked(t *testing.T, table string) {
	t.Helper()
	_, err := d.plain.Exec(t.Context(), "SELECT FROM "+table+" FOR UPDATE NOWAIT")
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "55P03" { // lock_not_available
		t.Errorf("the rows of %s are left to other transactions: %v", table, err)
	}
}

// advisoryLocks counts those of the database. A condition may follow.
const advisoryLocks = `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
	WHERE d.datname = current_database() AND l.locktype = 'advisory' AND `

// Counts of one pair of customer and actor wait for each other. All others go on, and so
// do baskets without a count.
func TestBasket_LocksOnlyThePairThatItCounts(t *testing.T) {
	t.Parallel()
	const bound = 50
	d := newDatabase(t)
	basket := func(ctx context.Context, tx order.Tx, customerID, actor string, count int) error {
		_, err := tx.Orders.Basket(ctx, order.BasketQuery{
			CustomerID: customerID, By: core.Operation{Actor: actor, Key: "key-1"}, CountUnpaid: count,
		})
		return err
	}
	for name, other := range map[string]struct {
		customer, actor string
		first, second   int
	}{
		"another customer":         {"bob", "bob", bound, bound},
		"another actor":            {"ann", "shop", bound, bound},
		"the pair turned around":   {"shop", "ann", bound, bound},
		"the same, without bounds": {"ann", "ann", 0, 0},
		"a bound, then none":       {"ann", "ann", bound, 0},
		"no bound, then one":       {"ann", "ann", 0, bound},
	} {
		err := d.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			if err := basket(ctx, tx, "ann", "ann", other.first); err != nil {
				return err
			}
			d.expectCount(t, advisoryLocks+"l.granted", min(1, other.first))
			return d.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
				return basket(ctx, tx, other.customer, other.actor, other.second)
			})
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A basket locks its products by SKU, so that two orders never wait for each other: while
// one product is held, those before it are locked, and those behind it are free. A scan
// of the table would lock them as they lie there. Orders by customers and by sellers
// lock the stock with one statement each.
func TestBasket_LocksInOneOrder(t *testing.T) {
	t.Parallel()
	for name, grant := range map[string]core.Grant{"customers": core.GrantEverybody, "sellers": {Seller: secret}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			db := open(t, d.owner+"&enable_indexscan=off&enable_bitmapscan=off")
			skus := []string{"tea", "fork", "cup"}
			for _, sku := range skus {
				if _, err := write(t, db, sku); err != nil {
					t.Fatal(err)
				}
			}
			giveUp := d.hold(t, "SELECT FROM product WHERE sku = 'fork' FOR UPDATE")
			ended := make(chan error, 1)
			go func() {
				_, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
					return second(tx.Orders.Basket(ctx, order.BasketQuery{CustomerID: secret, SKUs: skus, Grant: grant}))
				})
				ended <- err
			}()
			testwait.Until(t, "only the tea, behind the fork, is free", func() bool {
				rows, _ := d.plain.Query(t.Context(), "SELECT sku FROM product FOR UPDATE SKIP LOCKED")
				free, err := pgx.CollectRows(rows, pgx.RowTo[string])
				return err == nil && slices.Equal(free, []string{"tea"})
			})

			giveUp()

			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
