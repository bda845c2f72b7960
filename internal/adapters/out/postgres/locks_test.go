package postgres_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
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

// Orders of the same products in any sequence wait for each other without a deadlock. A
// deadlock would show as a second run, as would a row that is held for longer than the
// lock timeout, so that is as long as it may be. Orders by customers and by sellers lock
// the stock with one statement each.
func TestBasket_LocksInOneOrder(t *testing.T) {
	t.Parallel()
	for name, grant := range map[string]core.Grant{"customers": core.GrantEverybody, "sellers": {Seller: secret}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			db := open(t, d.owner+"&pool_max_conns=12&deadlock_timeout=10ms")
			db.Places.RecordPace(time.Hour)
			skus := []string{"cup", "fork", "spoon", "tea"}
			for _, sku := range skus {
				if _, err := write(t, db, sku); err != nil {
					t.Fatal(err)
				}
			}
			var all sync.WaitGroup
			for i := range 120 {
				all.Go(func() {
					mine := slices.Clone(skus)
					if i%2 == 0 {
						slices.Reverse(mine)
					}
					attempts, err := inTx(t, db, func(ctx context.Context, tx order.Tx) error {
						basket, err := tx.Orders.Basket(ctx, order.BasketQuery{CustomerID: secret, SKUs: mine, Grant: grant})
						if err != nil {
							return err
						}
						return tx.Products.SaveStock(ctx, basket.Stock)
					})
					if attempts != 1 || err != nil {
						t.Errorf("%d attempts: %v", attempts, err)
					}
				})
			}
			all.Wait()
		})
	}
}
