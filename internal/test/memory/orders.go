package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment/cards"
)

// admits reports whether a lock may be taken.
func (s *Store) admits(g core.Grant, owners core.Owners) bool { return s.Careless || g.Covers(owners) }

// products implements [order.Products].
type products struct{ *tx }

// Get returns a product.
func (t products) Get(_ context.Context, sku string) (*order.Product, error) {
	return find(t.products, sku)
}

// Lock returns a product that the grant covers. The transaction already has exclusive
// access to everything.
func (t products) Lock(_ context.Context, sku string, g core.Grant) (*order.Product, error) {
	p, err := find(t.products, sku)
	if err == nil && !t.store.admits(g, p.Owners()) {
		return nil, core.ErrNotGranted
	}
	return p, err
}

// List returns a page of products and one more, newest first.
func (t products) List(_ context.Context, page core.Page) ([]*order.Product, error) {
	at := func(p *order.Product) core.Position { return core.Position{CreatedAt: p.CreatedAt, ID: p.ID} }
	return list(t.products, func(*order.Product) bool { return true }, at, page), nil
}

// Save keeps a product; only SaveStock counts the stock.
func (t products) Save(_ context.Context, p *order.Product) error {
	stored := copyOf(p)
	stored.Reserved = 0
	if old, found := t.products[p.SKU]; found {
		if p.New {
			return duplicate("product of one SKU")
		}
		stored.Reserved = old.Reserved
	}
	return t.keep(stored)
}

// SaveStock keeps the counts and versions of products.
func (t products) SaveStock(_ context.Context, stock order.Stock) error {
	for sku, p := range stock {
		stored := copyOf(t.products[sku])
		stored.OnHand, stored.Reserved, stored.Version = p.OnHand, p.Reserved, p.Version
		if err := t.keep(stored); err != nil {
			return err
		}
	}
	return nil
}

// keep repeats the rules about the counts, as the table's CHECKs do.
func (t products) keep(p *order.Product) error {
	if p.Version < 1 || p.Reserved < 0 || p.Reserved > p.OnHand {
		return fmt.Errorf("%s in version %d: %d of %d are reserved", p.SKU, p.Version, p.Reserved, p.OnHand)
	}
	p.New, p.CreatedAt, p.UpdatedAt = false, stamp(p.CreatedAt), stamp(p.UpdatedAt)
	t.products[p.SKU] = p
	return nil
}

// stockAdjustments implements [order.StockAdjustments].
type stockAdjustments struct{ *tx }

// Lock returns a product that the grant covers, and the adjustment that the operation made
// before.
func (t stockAdjustments) Lock(ctx context.Context, q order.StockQuery) (locked order.LockedStock, err error) {
	if locked.Product, err = products(t).Lock(ctx, q.SKU, q.Grant); err != nil {
		return order.LockedStock{}, err
	}
	for _, a := range t.adjusted {
		if a.SKU != q.SKU || a.By.Actor != q.By.Actor {
			continue
		}
		if a.By == q.By {
			locked.Prior = copyOf(a)
		}
		locked.ReferenceTaken = locked.ReferenceTaken || a.Reference != "" && a.Reference == q.Reference
	}
	return locked, nil
}

// Add inserts an adjustment. An operation adjusts a product once, and so does a creator with
// a reference.
func (t stockAdjustments) Add(_ context.Context, a *order.StockAdjustment) error {
	taken := func(other *order.StockAdjustment) bool {
		return other.SKU == a.SKU && other.By.Actor == a.By.Actor &&
			(other.By.Key == a.By.Key || a.Reference != "" && other.Reference == a.Reference)
	}
	if has(t.adjusted, taken) {
		return duplicate("adjustment of one operation or reference")
	}
	stored := copyOf(a)
	stored.CreatedAt = stamp(a.CreatedAt)
	t.adjusted[a.ID] = stored
	return nil
}

// orders implements [order.Orders].
type orders struct{ *tx }

// Basket returns the products, and the order that the operation created before.
func (t orders) Basket(_ context.Context, q order.BasketQuery) (order.Basket, error) {
	basket := order.Basket{Stock: t.stock(q.SKUs)}
	for _, o := range t.orders {
		if o.CustomerID != q.CustomerID || o.CreatedBy.Actor != q.By.Actor {
			continue
		}
		if o.CreatedBy == q.By {
			basket.Prior = o.Clone()
		}
		if o.Status.Unpaid() && basket.Unpaid < q.CountUnpaid {
			basket.Unpaid++
		}
		basket.ReferenceTaken = basket.ReferenceTaken || o.Reference != "" && o.Reference == q.Reference
	}
	return basket, nil
}

// Get returns an order.
func (t orders) Get(_ context.Context, id int64) (*order.Order, error) {
	o, found := t.orders[id]
	if !found {
		return nil, core.ErrNotFound
	}
	return o.Clone(), nil
}

// Lock returns an order that the grant covers.
func (t orders) Lock(ctx context.Context, id int64, g core.Grant) (*order.Order, error) {
	o, err := t.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if !t.store.admits(g, o.Owners()) {
		return nil, core.ErrNotGranted
	}
	o.Disputed = has(t.disputes, func(d *dispute) bool {
		return d.orderID == id && (d.Status.IsOpen() || d.Status == cards.DisputeLost)
	})
	return o, nil
}

// List returns a page of orders and one more, newest first.
func (t orders) List(_ context.Context, f order.Filter, page core.Page) ([]*order.Order, error) {
	selected := func(o *order.Order) bool {
		return f.Grant.Covers(o.Owners()) && (f.CustomerID == "" || f.CustomerID == o.CustomerID) &&
			(f.Status == "" || f.Status == o.Status) && (f.Reference == "" || f.Reference == o.Reference) &&
			(f.CreatedBy == "" || f.CreatedBy == o.CreatedBy.Actor) && f.Created.Includes(o.CreatedAt)
	}
	at := func(o *order.Order) core.Position { return core.Position{CreatedAt: o.CreatedAt, ID: o.ID} }
	found := list(t.orders, selected, at, page)
	for i, o := range found {
		found[i] = o.Clone()
	}
	return found, nil
}

// Save inserts or updates an order. An operation creates one order, and no two orders of a
// customer and a creator have one reference.
func (t orders) Save(_ context.Context, o *order.Order) error {
	taken := func(other *order.Order) bool {
		return other.ID != o.ID && other.CustomerID == o.CustomerID && other.CreatedBy.Actor == o.CreatedBy.Actor &&
			(other.CreatedBy.Key == o.CreatedBy.Key || o.Reference != "" && other.Reference == o.Reference)
	}
	if has(t.orders, taken) {
		return duplicate("order of one operation or reference")
	}
	stored := o.Clone()
	stored.New, stored.Disputed = false, false
	stored.ReservedUntil, stored.CreatedAt, stored.UpdatedAt = stamp(o.ReservedUntil), stamp(o.CreatedAt), stamp(o.UpdatedAt)
	t.orders[o.ID] = stored
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

// reservations implements [order.Reservations].
type reservations struct{ *tx }

// Lock returns an order that the grant covers, with the stock of all lines.
func (t reservations) Lock(ctx context.Context, q order.ReservationQuery) (order.Reservation, error) {
	o, err := orders(t).Lock(ctx, q.OrderID, q.Grant)
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

// Expired returns the orders after a position with an expired reservation, the oldest
// reservation first.
func (t reservations) Expired(_ context.Context, after order.Expiry, limit int) ([]order.Expiry, error) {
	compare := func(a, b order.Expiry) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.OrderID, b.OrderID))
	}
	expired := []order.Expiry{}
	for _, o := range t.orders {
		e := order.Expiry{At: o.ReservedUntil, OrderID: o.ID}
		if o.Status == order.PendingPayment && !e.At.IsZero() && !o.HasReservation(t.now) && compare(e, after) > 0 {
			expired = append(expired, e)
		}
	}
	slices.SortFunc(expired, compare)
	return expired[:min(limit, len(expired))], nil
}

// AddExtension records which operation extended a reservation.
func (t reservations) AddExtension(_ context.Context, o *order.Order, by core.Operation) error {
	if t.extensions[extension{o.ID, by}] {
		return duplicate("extension by one operation")
	}
	t.extensions[extension{o.ID, by}] = true
	return nil
}
