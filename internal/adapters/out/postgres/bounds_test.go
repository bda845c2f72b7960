package postgres_test

import (
	"context"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// Counts of one pair of customer and actor wait for each other; the store suite tests
// that. All others go on, and so does whoever does not count.
func TestBasket_LocksOnlyThePairThatItCounts(t *testing.T) {
	t.Parallel()
	const bound = 50
	db := open(t, newDatabase(t).url)
	basket := func(ctx context.Context, tx order.Tx, customer, actor string, count int) error {
		_, err := tx.Orders.Basket(ctx, order.BasketQuery{
			CustomerID: customer, By: core.Operation{Actor: actor, Key: "key-1"}, CountUnpaid: count,
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
		err := db.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
			if err := basket(ctx, tx, "ann", "ann", other.first); err != nil {
				return err
			}
			return db.Orders().InTx(t.Context(), func(ctx context.Context, tx order.Tx) error {
				return basket(ctx, tx, other.customer, other.actor, other.second)
			})
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
