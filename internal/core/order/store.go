package order

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Store opens transactions.
type Store interface {
	// InTx runs fn in a transaction and commits it when fn returns nil. Inside a
	// guarded request it joins the guard's transaction. fn may run twice: a deadlock
	// or a race lost against another transaction rolls back and starts again. When fn
	// fails nothing is kept.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is what one transaction offers to the use cases of this package.
type Tx struct {
	// Now is when the transaction began, by the database's clock, in UTC.
	Now          time.Time
	IDs          core.IDs
	Orders       Orders
	Reservations Reservations
	Products     Products
	Journal      core.Journal
	Inbox        core.Inbox
}

// Orders keeps orders.
type Orders interface {
	// Basket loads what CreateOrder decides on, and locks the products in the order of
	// their SKUs. SKUs that do not exist are absent from the stock.
	Basket(ctx context.Context, customerID string, by core.Operation, skus []string) (Basket, error)
	// Get loads an order, or answers [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Order, error)
	// Lock loads an order for a change that leaves its stock alone, or answers
	// [core.ErrNotFound].
	Lock(ctx context.Context, id int64) (*Order, error)
	// List gives one row more than the page asks for, newest first.
	List(ctx context.Context, f Filter, page core.Page) ([]*Order, error)
	// Save writes a new order (version 1) or a changed one.
	Save(ctx context.Context, o *Order) error
}

// Reservations keeps what orders hold of the stock.
type Reservations interface {
	// Lock loads an order and its stock for a change of both, or answers
	// [core.ErrNotFound].
	Lock(ctx context.Context, orderID int64, by core.Operation) (Reservation, error)
	// Lapsed gives the ids of orders that wait for payment and whose hold is over, the
	// oldest first.
	Expired(ctx context.Context, limit int) ([]int64, error)
	// SaveExtension notes which operation renewed the hold of an order.
	SaveExtension(ctx context.Context, o *Order, by core.Operation) error
}

// Reservation is an order with the stock of its lines. Repeated tells that the operation
// has renewed the hold before.
type Reservation struct {
	Order    *Order
	Stock    Stock
	Repeated bool
}

// Basket is the products of an order about to be made, and the order that the same
// operation has made before, if it has.
type Basket struct {
	Stock Stock
	Prior *Order
}

// Products keeps products and their stock.
type Products interface {
	// Get loads a product, or answers [core.ErrNotFound].
	Get(ctx context.Context, sku string) (*Product, error)
	// Lock loads a product for a change, or answers [core.ErrNotFound].
	Lock(ctx context.Context, sku string) (*Product, error)
	// List gives one row more than the page asks for, newest first.
	List(ctx context.Context, page core.Page) ([]*Product, error)
	// Save writes a product that is new or changed.
	Save(ctx context.Context, p *Product) error
	// SaveStock writes the counts of several products at once.
	SaveStock(ctx context.Context, s Stock) error
}
