package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// Locking queries carry the grant as a condition: for an actor who may not use a row
// they find nothing, so they neither wait for its lock nor take it. A plain read in the
// same round trip reports whether the row exists. It comes first, because a row that it
// sees is also seen by the statements after it.

// orderExists reads whether an order exists.
func orderExists(ctx context.Context, id int64, exists *bool) read {
	return func(q *dbsqlc.Queries) (err error) {
		*exists, err = q.OrderExists(ctx, id)
		return err
	}
}

// lockOrder locks an order that the grant covers.
func lockOrder(ctx context.Context, id int64, g core.Grant, rows *[]dbsqlc.LockOrderRow) read {
	return func(q *dbsqlc.Queries) (err error) {
		*rows, err = q.LockOrder(ctx, dbsqlc.LockOrderParams{
			ID: id, Everybody: g.Everybody, AsCustomer: optional(g.Customer), AsSeller: optional(g.Seller),
		})
		return err
	}
}

// lockStockOfOrder locks the products of an order that the grant covers, by SKU.
func lockStockOfOrder(ctx context.Context, id int64, g core.Grant, rows *[]dbsqlc.Product) read {
	return func(q *dbsqlc.Queries) (err error) {
		*rows, err = q.LockStockOfOrder(ctx, dbsqlc.LockStockOfOrderParams{
			OrderID: id, Everybody: g.Everybody, AsCustomer: optional(g.Customer), AsSeller: optional(g.Seller),
		})
		return err
	}
}

// lockBalanceOfOrder locks the balance of the customer of an order that the grant covers.
func lockBalanceOfOrder(ctx context.Context, id int64, g core.Grant, rows *[]dbsqlc.Balance) read {
	return func(q *dbsqlc.Queries) (err error) {
		*rows, err = q.LockBalanceOfOrder(ctx, dbsqlc.LockBalanceOfOrderParams{
			OrderID: id, Everybody: g.Everybody, AsCustomer: optional(g.Customer), AsSeller: optional(g.Seller),
		})
		return err
	}
}

// notLocked returns the error for a row that was not found by a locking query.
func notLocked(exists bool) error {
	if exists {
		return core.ErrNotGranted
	}
	return core.ErrNotFound
}
