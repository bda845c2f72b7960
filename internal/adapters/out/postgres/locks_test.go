package postgres_test

import (
	"context"
	"errors"
	"testing"

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
		_, err := tx.Orders.Basket(ctx, order.BasketQuery{CustomerID: "ann", SKUs: []string{"tea"}, Grant: core.GrantEverybody})
		return err
	}},
	"Orders.Lock": {[]string{"orders"}, func(ctx context.Context, _ *database, tx payment.Tx, orderID int64) error {
		_, err := tx.Orders.Lock(ctx, orderID, core.GrantEverybody)
		return err
	}},
	"Reservations.Lock": {[]string{"orders", "product"}, func(ctx context.Context, _ *database, tx payment.Tx, orderID int64) error {
		_, err := tx.Reservations.Lock(ctx, order.ReservationQuery{OrderID: orderID, Grant: core.GrantEverybody})
		return err
	}},
	"OrderPayments.Lock": {[]string{"orders", "product", "balance"}, func(ctx context.Context, _ *database, tx payment.Tx, orderID int64) error {
		_, err := tx.OrderPayments.Lock(ctx, orderID, core.GrantEverybody)
		return err
	}},
	"Products.Lock": {[]string{"product"}, func(ctx context.Context, _ *database, tx payment.Tx, _ int64) error {
		_, err := tx.Products.Lock(ctx, "tea", core.GrantEverybody)
		return err
	}},
	"StockAdjustments.Lock": {[]string{"product"}, func(ctx context.Context, _ *database, tx payment.Tx, _ int64) error {
		_, _, err := tx.StockAdjustments.Lock(ctx, "tea", core.Operation{}, core.GrantEverybody)
		return err
	}},
	"Balances.Lock": {[]string{"balance"}, func(ctx context.Context, _ *database, tx payment.Tx, _ int64) error {
		_, err := tx.Balances.Lock(ctx, payment.BalanceQuery{CustomerID: "ann", Currency: "RUB"})
		return err
	}},
	"Profiles.Lock": {[]string{"customer_profile"}, func(ctx context.Context, d *database, _ payment.Tx, _ int64) error {
		return d.Customers().InTx(ctx, func(ctx context.Context, tx customer.Tx) error { // joins the transaction
			_, err := tx.Profiles.Lock(ctx, "ann")
			return err
		})
	}},
}

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
				_, err := d.plain.Exec(ctx, "SELECT FROM "+table+" FOR UPDATE NOWAIT")
				if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "55P03" { // lock_not_available
					t.Errorf("%s leaves the rows of %s to other transactions: %v", name, table, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
