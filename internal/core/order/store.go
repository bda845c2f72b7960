package order

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Store opens transactions.
type Store interface {
	// InTx runs fn in a transaction and commits it when fn returns nil. When fn fails,
	// all writes are rolled back. Inside a guarded request InTx joins the transaction
	// of the guard.
	//
	// fn may run twice: after a deadlock or a lost race the transaction is rolled back
	// and starts from the beginning. So fn must have no effect outside the transaction.
	//
	// The first load may fail once on purpose, when the transaction serves several
	// commands: it only learns then what to load for all of them. fn must return the error
	// of a load unchanged or wrapped, never hide it.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Read is InTx for a use case that changes the audit log at most. It never waits
	// for transactions that write, however many of them wait for the database.
	Read(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a struct of stores bound to one transaction.
type Tx struct {
	// Now is the transaction start on the database clock, in UTC.
	Now              time.Time
	IDs              core.IDs
	Orders           Orders
	Reservations     Reservations
	Products         Products
	StockAdjustments StockAdjustments
	Outbox           core.Outbox
	AuditLog         core.AuditLog
	Inbox            core.Inbox
}

// SaveOrder saves an order with the changed stock, which may be nil, and publishes an
// event of type eventType.
func (tx Tx) SaveOrder(ctx context.Context, o *Order, stock Stock, eventType core.EventType) error {
	if len(stock) > 0 {
		if err := tx.Products.SaveStock(ctx, stock); err != nil {
			return err
		}
	}
	if err := tx.Orders.Save(ctx, o); err != nil {
		return err
	}
	return tx.Outbox.Add(ctx, o.Event(eventType))
}

// Orders stores orders.
type Orders interface {
	// Basket loads the data for the decision of CreateOrder, and locks the products, by
	// SKU, that the grant covers. Unknown SKUs are absent from the stock.
	//
	// A query that counts unpaid orders first locks the pair of customer and actor, so
	// that no concurrent transaction counts the same orders: the count includes all
	// earlier orders.
	Basket(ctx context.Context, q BasketQuery) (Basket, error)
	// Get loads an order, or returns [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Order, error)
	// Lock locks and loads an order for a change that does not concern stock. It
	// returns [core.ErrNotFound], or [core.ErrNotGranted] before any wait for a lock.
	Lock(ctx context.Context, id int64, grant core.Grant) (*Order, error)
	// List returns orders, newest first, one more than the page limit.
	List(ctx context.Context, f Filter, page core.Page) ([]*Order, error)
	// Save inserts a new order or updates an existing one.
	Save(ctx context.Context, o *Order) error
}

// BasketQuery describes an order about to be created.
type BasketQuery struct {
	CustomerID string
	// Reference is an optional id from the caller.
	Reference string
	By        core.Operation
	SKUs      []string
	Grant     core.Grant
	// CountUnpaid limits the count of unpaid orders that the actor created for the
	// customer. 0 skips the count.
	CountUnpaid int
}

// Basket holds the products for a new order, and the order that the same operation
// already created, if any.
//
// Products that the grant does not cover are also in the stock, but not locked: the
// order is refused, and they show whether because of an unknown product, several
// sellers, or the wrong one.
type Basket struct {
	Stock Stock
	Prior *Order
	// ReferenceTaken reports whether the actor already created an order with this
	// reference for the customer, including by the same operation.
	ReferenceTaken bool
	// Unpaid is the number of unpaid orders that the actor created for the customer, up
	// to CountUnpaid. An order stays unpaid when the reservation expires, because it
	// can be extended.
	Unpaid int
}

// Reservations stores which orders have stock reserved.
type Reservations interface {
	// Lock locks and loads an order and its stock. It returns [core.ErrNotFound], or
	// [core.ErrNotGranted] before any wait for a lock.
	Lock(ctx context.Context, q ReservationQuery) (Reservation, error)
	// Expired returns orders after a position that wait for payment with an expired
	// reservation, oldest expiry first.
	Expired(ctx context.Context, after Expiry, limit int) ([]Expiry, error)
	// AddExtension records which operation extended the reservation of an order.
	AddExtension(ctx context.Context, o *Order, by core.Operation) error
}

// Expiry is a position in the list of reservations, sorted by expiry. The zero Expiry
// is the beginning.
type Expiry struct {
	At      time.Time
	OrderID int64
}

// ReservationQuery describes a change to a reservation.
type ReservationQuery struct {
	OrderID int64
	By      core.Operation
	Grant   core.Grant
	// CountExtensions limits the count of extensions. 0 skips the count.
	CountExtensions int
}

// Reservation is an order with the stock for its lines.
type Reservation struct {
	Order *Order
	Stock Stock
	// Repeated reports whether the operation already extended the reservation.
	Repeated bool
	// Extensions is the number of extensions, up to CountExtensions.
	Extensions int
}

// Products stores products and their stock.
type Products interface {
	// Get loads a product, or returns [core.ErrNotFound].
	Get(ctx context.Context, sku string) (*Product, error)
	// Lock locks and loads a product. It returns [core.ErrNotFound], or
	// [core.ErrNotGranted] before any wait for a lock.
	Lock(ctx context.Context, sku string, grant core.Grant) (*Product, error)
	// List returns products, newest first, one more than the page limit.
	List(ctx context.Context, page core.Page) ([]*Product, error)
	// Save inserts a new product or updates an existing one, except for the reserved
	// quantity, which only SaveStock changes.
	Save(ctx context.Context, p *Product) error
	// SaveStock writes the quantities and versions of several products at once.
	SaveStock(ctx context.Context, s Stock) error
}

// StockAdjustments stores the operations that adjusted stock.
type StockAdjustments interface {
	// Lock locks and loads a product. It returns [core.ErrNotFound], or
	// [core.ErrNotGranted] before any wait for a lock.
	Lock(ctx context.Context, q StockQuery) (LockedStock, error)
	// Add inserts an adjustment.
	Add(ctx context.Context, a *StockAdjustment) error
}

// StockQuery describes an adjustment about to be made.
type StockQuery struct {
	SKU string
	// Reference is the optional id of the adjustment.
	Reference string
	By        core.Operation
	Grant     core.Grant
}

// LockedStock holds a product, and the adjustment that the same operation already made,
// if any.
type LockedStock struct {
	Product *Product
	Prior   *StockAdjustment
	// ReferenceTaken reports whether the actor already adjusted the product with this
	// reference, including by the same operation.
	ReferenceTaken bool
}
