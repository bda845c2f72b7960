package memory

import (
	"cmp"
	"context"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// orders implements [order.Orders].
type orders struct{ *tx }

// Basket returns the products, and the order that the operation created before.
func (t orders) Basket(_ context.Context, q order.BasketQuery) (order.Basket, error) {
	basket := order.Basket{Stock: t.stock(q.SKUs)}
	for _, o := range t.orders {
		if o.CustomerID != q.CustomerID {
			continue
		}
		if o.CreatedBy == q.By {
			basket.Prior = copyOrder(o)
		}
		if o.CreatedBy.Actor != q.By.Actor {
			continue
		}
		if isUnpaid(o) && basket.Unpaid < q.CountUnpaid {
			basket.Unpaid++
		}
		basket.ReferenceTaken = basket.ReferenceTaken || o.Reference != "" && o.Reference == q.Reference
	}
	return basket, nil
}

func isUnpaid(o *order.Order) bool {
	return o.Status == order.PendingPayment || o.Status == order.PaymentProcessing
}

// Get returns an order.
func (t orders) Get(_ context.Context, id int64) (*order.Order, error) { return t.order(id) }

// Lock returns an order that the grant covers. The transaction already has exclusive
// access to everything.
func (t orders) Lock(_ context.Context, id int64, g core.Grant) (*order.Order, error) {
	return t.granted(id, g)
}

// List returns a page of orders and one more, newest first.
func (t orders) List(_ context.Context, f order.Filter, page core.Page) ([]*order.Order, error) {
	rows := rowsOf(t.orders, func(o *order.Order) bool { return shows(f, o) }, func(o *order.Order) core.Position {
		return core.Position{CreatedAt: o.CreatedAt, ID: o.ID}
	})
	return pageOf(rows, page, copyOrder), nil
}

// shows reports whether the filter selects an order.
func shows(f order.Filter, o *order.Order) bool {
	return f.Grant.Covers(o.Owners()) && (f.CustomerID == "" || f.CustomerID == o.CustomerID) &&
		(f.Status == "" || f.Status == o.Status) && (f.Reference == "" || f.Reference == o.Reference) &&
		(f.CreatedBy == "" || f.CreatedBy == o.CreatedBy.Actor) && f.Created.Includes(o.CreatedAt)
}

// Save inserts or updates an order. An operation creates one order, and no two orders of a
// customer and a creator have one reference.
func (t orders) Save(_ context.Context, o *order.Order) error {
	for _, other := range t.orders {
		if other.ID == o.ID || other.CustomerID != o.CustomerID {
			continue
		}
		if other.CreatedBy == o.CreatedBy {
			return duplicate("order of one operation")
		}
		if o.Reference != "" && other.Reference == o.Reference && other.CreatedBy.Actor == o.CreatedBy.Actor {
			return duplicate("order with one reference")
		}
	}
	stored := copyOrder(o)
	stored.New = false
	stored.ReservedUntil, stored.CreatedAt, stored.UpdatedAt = stamp(o.ReservedUntil), stamp(o.CreatedAt), stamp(o.UpdatedAt)
	t.orders[o.ID] = stored
	return nil
}

func (t *tx) order(id int64) (*order.Order, error) {
	o, found := t.orders[id]
	if !found {
		return nil, core.ErrNotFound
	}
	return copyOrder(o), nil
}

func (t *tx) granted(id int64, g core.Grant) (*order.Order, error) {
	o, err := t.order(id)
	if err == nil && !t.store.admits(g, o.Owners()) {
		return nil, core.ErrNotGranted
	}
	return o, err
}

// reservations implements [order.Reservations].
type reservations struct{ *tx }

// Lock returns an order that the grant covers, with the stock of its lines.
func (t reservations) Lock(_ context.Context, q order.ReservationQuery) (order.Reservation, error) {
	o, err := t.granted(q.OrderID, q.Grant)
	if err != nil {
		return order.Reservation{}, err
	}
	r := order.Reservation{Order: o, Stock: t.stockOf(o), Repeated: t.extensions[extension{q.OrderID, q.By}]}
	for e := range t.extensions {
		if e.orderID == q.OrderID && r.Extensions < q.CountExtensions {
			r.Extensions++
		}
	}
	return r, nil
}

// Expired returns the orders after a position whose reservation has expired, the oldest
// reservation first.
func (t reservations) Expired(_ context.Context, after order.Expiry, limit int) ([]order.Expiry, error) {
	expired := []order.Expiry{}
	for _, o := range t.orders {
		e := order.Expiry{At: o.ReservedUntil, OrderID: o.ID}
		if o.Status == order.PendingPayment && !e.At.IsZero() && !o.HasReservation(t.now) && compareExpiry(e, after) > 0 {
			expired = append(expired, e)
		}
	}
	slices.SortFunc(expired, compareExpiry)
	return expired[:min(limit, len(expired))], nil
}

func compareExpiry(a, b order.Expiry) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.OrderID, b.OrderID))
}

// AddExtension records which operation extended a reservation.
func (t reservations) AddExtension(_ context.Context, o *order.Order, by core.Operation) error {
	if t.extensions[extension{o.ID, by}] {
		return duplicate("extension by one operation")
	}
	t.extensions[extension{o.ID, by}] = true
	return nil
}

// stock returns those of the products that exist.
func (t *tx) stock(skus []string) order.Stock {
	stock := order.Stock{}
	for _, sku := range skus {
		if p, found := t.products[sku]; found {
			stock[sku] = copyOf(p)
		}
	}
	return stock
}

func (t *tx) stockOf(o *order.Order) order.Stock {
	var skus []string
	for _, l := range o.Lines {
		skus = append(skus, l.SKU)
	}
	return t.stock(skus)
}
