package order

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Store opens transactions.
type Store interface {
	// InTx runs fn in a transaction and commits it when fn returns nil. Nothing is
	// stored when fn fails. Inside a guarded request InTx joins the transaction of the
	// guard.
	//
	// fn may run twice: after a deadlock or a lost race the transaction is rolled back
	// and starts from the beginning. So fn must have no effect outside the transaction.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Read is InTx for a use case that changes nothing but the audit log. It never waits
	// for transactions that write, however many of them wait for the database.
	Read(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// ReadStale is Read for what may be older by a bound that operators set: a standby may
	// serve it. It is not for what the answer to a command is compared with.
	ReadStale(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is what a transaction offers to the use cases of this package.
type Tx struct {
	// Now is when the transaction began, by the clock of the database, in UTC.
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

// SaveOrder saves an order and the stock that changed with it, and publishes what
// happened to the order. The stock may be nil.
func (tx Tx) SaveOrder(ctx context.Context, o *Order, stock Stock, what core.EventType) error {
	if len(stock) > 0 {
		if err := tx.Products.SaveStock(ctx, stock); err != nil {
			return err
		}
	}
	if err := tx.Orders.Save(ctx, o); err != nil {
		return err
	}
	return tx.Outbox.Add(ctx, o.Event(what))
}

// Orders stores orders.
type Orders interface {
	// Basket loads what CreateOrder decides on, and locks those products by SKU that the
	// grant covers. SKUs that do not exist are absent from the stock.
	//
	// A query that counts unpaid orders locks the pair of customer and actor before that:
	// no other transaction counts the same orders until this one has ended, so the count
	// includes the orders of all that came before.
	Basket(ctx context.Context, q BasketQuery) (Basket, error)
	// Get loads an order, or returns [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Order, error)
	// Lock locks and loads an order for a change that does not concern its stock. It
	// returns [core.ErrNotFound], or [core.ErrNotGranted] without waiting for a lock.
	Lock(ctx context.Context, id int64, grant core.Grant) (*Order, error)
	// List returns orders, newest first, and one more than the page asks for.
	List(ctx context.Context, f Filter, page core.Page) ([]*Order, error)
	// Save inserts an order that is new, and updates any other.
	Save(ctx context.Context, o *Order) error
}

// BasketQuery describes an order that is about to be created.
type BasketQuery struct {
	CustomerID string
	// Reference is the caller's own id of the order, empty for none.
	Reference string
	By        core.Operation
	SKUs      []string
	Grant     core.Grant
	// CountUnpaid is how far to count the unpaid orders of the customer that the actor
	// created, 0 for not at all.
	CountUnpaid int
}

// Basket holds the products of an order that is about to be created, and the order
// that the same operation created before, if any.
//
// Products that the grant does not cover are in the stock too, but not locked: the order
// is refused, and they show whether it has unknown products, several sellers, or the
// wrong one.
type Basket struct {
	Stock Stock
	Prior *Order
	// ReferenceTaken reports whether an order that the actor created for the customer has the
	// reference. The order of the same operation also counts.
	ReferenceTaken bool
	// Unpaid is how many unpaid orders of the customer the actor has created, as far as the
	// query counts. An order stays unpaid when its reservation expires: it can be extended.
	Unpaid int
}

// Reservations stores which orders have stock reserved.
type Reservations interface {
	// Lock locks and loads an order and its stock. It returns [core.ErrNotFound], or
	// [core.ErrNotGranted] without waiting for a lock.
	Lock(ctx context.Context, q ReservationQuery) (Reservation, error)
	// Expired returns the orders after a position that wait for payment and whose
	// reservation has expired, the oldest reservation first.
	Expired(ctx context.Context, after Expiry, limit int) ([]Expiry, error)
	// AddExtension records which operation extended the reservation of an order.
	AddExtension(ctx context.Context, o *Order, by core.Operation) error
}

// Expiry is a place in the list of reservations, sorted by when they expire. The zero
// Expiry is the beginning of the list.
type Expiry struct {
	At      time.Time
	OrderID int64
}

// ReservationQuery describes a change of the reservation of an order.
type ReservationQuery struct {
	OrderID int64
	By      core.Operation
	Grant   core.Grant
	// CountExtensions is how far to count the extensions, 0 for not at all.
	CountExtensions int
}

// Reservation is an order with the stock of its lines.
type Reservation struct {
	Order *Order
	Stock Stock
	// Repeated reports whether the operation has extended the reservation before.
	Repeated bool
	// Extensions is how often the reservation has been extended, as far as the query
	// counts.
	Extensions int
}

// Products stores products and their stock.
type Products interface {
	// Get loads a product, or returns [core.ErrNotFound].
	Get(ctx context.Context, sku string) (*Product, error)
	// Lock locks and loads a product. It returns [core.ErrNotFound], or
	// [core.ErrNotGranted] without waiting for a lock.
	Lock(ctx context.Context, sku string, grant core.Grant) (*Product, error)
	// List returns products, newest first, and one more than the page asks for.
	List(ctx context.Context, page core.Page) ([]*Product, error)
	// Save inserts a product that is new, and updates any other, except for its reserved
	// quantity, which only SaveStock changes.
	Save(ctx context.Context, p *Product) error
	// SaveStock writes the quantities and versions of several products at once.
	SaveStock(ctx context.Context, s Stock) error
}

// StockAdjustments stores which operations adjusted the stock of products.
type StockAdjustments interface {
	// Lock locks and loads a product, and the adjustment that the same operation made
	// before, if any. It returns [core.ErrNotFound], or [core.ErrNotGranted] without
	// waiting for a lock.
	Lock(ctx context.Context, sku string, by core.Operation, grant core.Grant) (*Product, *StockAdjustment, error)
	// Add inserts an adjustment.
	Add(ctx context.Context, a *StockAdjustment) error
}
