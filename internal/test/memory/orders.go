package memory

import (
	"context"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// orders implements [order.Orders].
type orders struct{ *tx }

// Basket gives the products that are asked for, and the order that the operation has
// made before.
func (t orders) Basket(_ context.Context, customerID string, by core.Operation, skus []string) (order.Basket, error) {
	basket := order.Basket{Stock: t.stock(skus)}
	for _, o := range t.orders {
		if o.CustomerID == customerID && o.CreatedBy == by {
			basket.Prior = copyOrder(o)
		}
	}
	return basket, nil
}

// Get gives an order.
func (t orders) Get(_ context.Context, id int64) (*order.Order, error) { return t.order(id) }

// Lock gives an order; the transaction has everything locked.
func (t orders) Lock(_ context.Context, id int64) (*order.Order, error) { return t.order(id) }

// List gives a page of orders and one more, newest first.
func (t orders) List(_ context.Context, f order.Filter, page core.Page) ([]*order.Order, error) {
	rows := rowsOf(t.orders, func(o *order.Order) bool { return shows(f, o) }, func(o *order.Order) core.Position {
		return core.Position{CreatedAt: o.CreatedAt, ID: o.ID}
	})
	return pageOf(rows, page, copyOrder), nil
}

func shows(f order.Filter, o *order.Order) bool {
	customer, seller := f.Visible[core.Customer], f.Visible[core.Seller]
	visible := f.Visible == nil || (customer != "" && customer == o.CustomerID) || (seller != "" && seller == o.SellerID)
	return visible && (f.CustomerID == "" || f.CustomerID == o.CustomerID) && (f.Status == "" || f.Status == o.Status)
}

// Save inserts or updates an order. An operation creates one order.
func (t orders) Save(_ context.Context, o *order.Order) error {
	for _, other := range t.orders {
		if other.ID != o.ID && other.CustomerID == o.CustomerID && other.CreatedBy == o.CreatedBy {
			return duplicate("order of one operation")
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

// reservations implements [order.Reservations].
type reservations struct{ *tx }

// Lock gives an order with the stock of its lines.
func (t reservations) Lock(_ context.Context, orderID int64, by core.Operation) (order.Reservation, error) {
	o, err := t.order(orderID)
	if err != nil {
		return order.Reservation{}, err
	}
	return order.Reservation{Order: o, Stock: t.stockOf(o), Repeated: t.extensions[renewal{orderID, by}]}, nil
}

// Lapsed gives the orders whose hold is over, the oldest hold first.
func (t reservations) Expired(_ context.Context, limit int) ([]int64, error) {
	lapsed := rowsOf(t.orders, func(o *order.Order) bool {
		return o.Status == order.PendingPayment && !o.ReservedUntil.IsZero() && !o.HasReservation(t.now)
	}, func(o *order.Order) core.Position { return core.Position{CreatedAt: o.ReservedUntil, ID: o.ID} })
	slices.Reverse(lapsed)
	ids := []int64{}
	for _, r := range lapsed[:min(limit, len(lapsed))] {
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// AddExtension records which operation extended a reservation.
func (t reservations) AddExtension(_ context.Context, o *order.Order, by core.Operation) error {
	if t.extensions[renewal{o.ID, by}] {
		return duplicate("renewal by one operation")
	}
	t.extensions[renewal{o.ID, by}] = true
	return nil
}

// stock gives the products that exist.
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
