package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/fetch"
	"example.com/orders/internal/adapters/out/postgres/null"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// orders implements [order.Orders].
type orders struct{ tx *session }

// Basket locks the products that the grant covers, and loads the operation's earlier
// order. The reference is looked up after the locks, so that the lookup sees the
// previous holder's order.
func (s orders) Basket(ctx context.Context, query order.BasketQuery) (order.Basket, error) {
	return ask(ctx, s.tx, basketLoad(query), s.tx.batch.basket)
}

// Get loads an order.
func (s orders) Get(ctx context.Context, id int64) (*order.Order, error) {
	lines, err := fetch.Find(ctx, s.tx, (*queries).OrderByID, id)
	if err != nil {
		return nil, err
	}
	found, err := ordersOf(lines)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, core.ErrNotFound
	}
	return found[0], nil
}

// Lock locks and loads an order that the grant covers.
func (s orders) Lock(ctx context.Context, id int64, g core.Grant) (*order.Order, error) {
	var disputed []bool
	o, _, err := s.tx.lockOrder(ctx, id, g, false, pgtx.Into(&disputed, (*queries).OrderDisputed, id))
	if err != nil {
		return nil, err
	}
	o.Disputed = disputed[0]
	return o, nil
}

// List returns a page plus one more order, newest first.
func (s orders) List(ctx context.Context, f order.Filter, page core.Page) ([]*order.Order, error) {
	var lines []orderLine
	err := s.tx.Load(ctx, func(ctx context.Context, q *queries) (err error) {
		lines, err = listOrders(ctx, q, f, page)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ordersOf(lines)
}

// listOrders picks the query that has an index for the filter: all orders, one
// customer's, one seller's, or one customer's with one seller.
func listOrders(ctx context.Context, q *queries, f order.Filter, page core.Page) ([]orderLine, error) {
	customer, seller := f.Grant.Customer, f.Grant.Seller
	switch {
	case f.Reference != "":
		return listOrdersByReference(ctx, q, f, page)
	case f.Grant.Everybody && f.CustomerID == "":
		rows, err := q.ListOrders(ctx, dbsqlc.ListOrdersParams{
			Statuses:   oneOr(f.Status, order.Statuses()...),
			BeforeTime: null.IfZeroTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: null.IfZeroTime(f.Created.From),
			Rows: int32(page.Limit + 1),
		})
		return linesOf(rows), err
	case !f.Grant.Everybody && f.CustomerID != "" && f.CustomerID != customer:
		rows, err := q.ListOrdersBetween(ctx, dbsqlc.ListOrdersBetweenParams{
			SellerID: seller, CustomerID: f.CustomerID, Statuses: oneOr(f.Status, order.Statuses()...),
			BeforeTime: null.IfZeroTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: null.IfZeroTime(f.Created.From),
			Rows: int32(page.Limit + 1),
		})
		return linesOf(rows), err
	case f.CustomerID != "":
		customer, seller = f.CustomerID, ""
	}
	rows, err := q.ListOrdersOf(ctx, dbsqlc.ListOrdersOfParams{
		CustomerID: null.IfZero(customer), SellerID: null.IfZero(seller), Statuses: oneOr(f.Status, order.Statuses()...),
		BeforeTime: null.IfZeroTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: null.IfZeroTime(f.Created.From),
		Rows: int32(page.Limit + 1),
	})
	return linesOf(rows), err
}

// listOrdersByReference is [listOrders] for orders with a reference.
func listOrdersByReference(ctx context.Context, q *queries, f order.Filter, page core.Page) ([]orderLine, error) {
	rows, err := q.ListOrdersByReference(ctx, dbsqlc.ListOrdersByReferenceParams{
		CustomerID: null.IfZero(f.CustomerID), CreatedBy: f.CreatedBy, Reference: f.Reference, Statuses: oneOr(f.Status, order.Statuses()...),
		Everybody: f.Grant.Everybody, AsCustomer: f.Grant.Customer, AsSeller: f.Grant.Seller,
		BeforeTime: null.IfZeroTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: null.IfZeroTime(f.Created.From),
		Rows: int32(page.Limit + 1),
	})
	return linesOf(rows), err
}

// Save inserts or updates an order. Lines never change, so only a new order writes
// them.
func (s orders) Save(_ context.Context, o *order.Order) error {
	return s.tx.write(savedOrder{o.Clone()})
}

// savedOrder is an order created or changed by a command.
type savedOrder struct{ *order.Order }

// join lets later commands find the order, and counts it for its creator while it is
// unpaid.
func (o savedOrder) join(b *batch) {
	by := creator{o.CustomerID, o.CreatedBy.Actor}
	if o.New {
		b.newOrders = append(b.newOrders, o)
		b.unpaidOrders[by]++
		b.ordersBy[operationOf{o.CustomerID, o.CreatedBy}] = o.Order
		if o.Reference != "" {
			b.orderRefs[orderRef{by, o.Reference}] = true
		}
		return
	}
	if b.orders[o.ID].Status.Unpaid() && !o.Status.Unpaid() {
		b.unpaidOrders[by]--
	}
	b.oldOrders.add(o.ID, b.orders[o.ID])
	b.orders[o.ID] = o.Order
}

func (b *batch) oldOrderParams(id int64) dbsqlc.UpdateOrderParams {
	o := b.orders[id]
	p := dbsqlc.UpdateOrderParams{
		ID: id, Status: string(o.Status), ReservedUntil: null.IfZeroTime(o.ReservedUntil), UpdatedAt: o.UpdatedAt,
		Version: int64(o.Version), ReadVersion: int64(b.oldOrders.read[id].Version),
	}
	if c := o.Cancellation; c != nil {
		p.CancelledBy, p.CancelKey, p.CancelReason = &c.By.Actor, null.IfZero(c.By.Key), &c.Reason
	}
	return p
}

func (b *batch) oldOrdersParams(ids []int64) dbsqlc.UpdateOrdersParams {
	var p dbsqlc.UpdateOrdersParams
	for _, id := range ids {
		o := b.orders[id]
		c := null.Value(o.Cancellation)
		p.Ids = append(p.Ids, id)
		p.Statuses = append(p.Statuses, string(o.Status))
		p.ReservedUntil = append(p.ReservedUntil, o.ReservedUntil)
		p.UpdatedAt = append(p.UpdatedAt, o.UpdatedAt)
		p.Versions = append(p.Versions, int64(o.Version))
		p.ReadVersions = append(p.ReadVersions, int64(b.oldOrders.read[id].Version))
		p.CancelledBy = append(p.CancelledBy, c.By.Actor)
		p.CancelKeys = append(p.CancelKeys, c.By.Key)
		p.CancelReasons = append(p.CancelReasons, c.Reason)
	}
	return p
}

func newOrdersParams(created []savedOrder) dbsqlc.InsertOrdersParams {
	var p dbsqlc.InsertOrdersParams
	for _, o := range created {
		p.Ids, p.CustomerIds = append(p.Ids, o.ID), append(p.CustomerIds, o.CustomerID)
		p.SellerIds, p.Statuses = append(p.SellerIds, o.SellerID), append(p.Statuses, string(o.Status))
		p.Totals, p.Currencies = append(p.Totals, o.Total.Decimal()), append(p.Currencies, string(o.Total.Currency()))
		p.ReservedUntil, p.Versions = append(p.ReservedUntil, o.ReservedUntil), append(p.Versions, int64(o.Version))
		p.CreatedBy, p.IdempotencyKeys = append(p.CreatedBy, o.CreatedBy.Actor), append(p.IdempotencyKeys, o.CreatedBy.Key)
		p.CreatedAt, p.UpdatedAt = append(p.CreatedAt, o.CreatedAt), append(p.UpdatedAt, o.UpdatedAt)
		p.Refs = append(p.Refs, o.Reference)
	}
	return p
}

func itemsParams(created []savedOrder) dbsqlc.InsertItemsOfOrdersParams {
	var items dbsqlc.InsertItemsOfOrdersParams
	for _, o := range created {
		for i, l := range o.Lines {
			items.OrderIds, items.Lines = append(items.OrderIds, o.ID), append(items.Lines, int32(i+1))
			items.Skus, items.Quantities = append(items.Skus, l.SKU), append(items.Quantities, int32(l.Quantity))
			items.UnitPrices = append(items.UnitPrices, l.UnitPrice.Decimal())
		}
	}
	return items
}

// Locking queries carry the grant as a condition: they find no rows that the actor may
// not use, so they neither wait for such a lock nor take it. A plain read in the same
// round trip reports whether the row exists. It comes first, because later statements
// also see any row that it sees.

// lockOrder locks and loads an order that the grant covers. Other reads may share the
// round trip; they come after the lock.
func (s *session) lockOrder(
	ctx context.Context, id int64, g core.Grant, withStock bool, others ...pgtx.Read,
) (*order.Order, order.Stock, error) {
	one := orderLoad{id, g}
	loads := loadsOf(one)
	reads := s.batch.ordersToLock(loads)
	if withStock {
		reads = append(reads, s.batch.stockToLock(loads)...)
	}
	if err := s.Load(ctx, append(reads, others...)...); err != nil {
		return nil, nil, err
	}
	return s.batch.order(one)
}

// notLocked returns the error when a locking query found no row.
func notLocked(exists bool) error {
	if exists {
		return core.ErrNotGranted
	}
	return core.ErrNotFound
}

// orderLine is one row per order line, as orders are read.
type orderLine = dbsqlc.OrderByIDRow

// linesOf converts the rows from all order queries to one type.
func linesOf[R dbsqlc.OrderByIDRow | dbsqlc.LockOrderRow | dbsqlc.LockOrdersRow |
	dbsqlc.OrdersByOperationRow |
	dbsqlc.ListOrdersRow | dbsqlc.ListOrdersOfRow | dbsqlc.ListOrdersBetweenRow | dbsqlc.ListOrdersByReferenceRow](rows []R) []orderLine {
	lines := make([]orderLine, len(rows))
	for i, r := range rows {
		lines[i] = orderLine(r)
	}
	return lines
}

// ordersOf converts lines that are sorted by order.
func ordersOf(lines []orderLine) ([]*order.Order, error) {
	var found []*order.Order
	for i, r := range lines {
		if i == 0 || r.Order.ID != lines[i-1].Order.ID {
			o, err := orderOf(r.Order)
			if err != nil {
				return nil, err
			}
			found = append(found, o)
		}
		price, err := core.MoneyOf(r.OrderItem.UnitPrice, r.Order.Currency)
		if err != nil {
			return nil, err
		}
		o := found[len(found)-1]
		o.Lines = append(o.Lines, order.Line{SKU: r.OrderItem.Sku, Quantity: int(r.OrderItem.Quantity), UnitPrice: price})
	}
	return found, nil
}

// orderOf converts an order row. The caller adds the lines.
func orderOf(row dbsqlc.Order) (*order.Order, error) {
	total, err := core.MoneyOf(row.Total, row.Currency)
	return &order.Order{
		ID: row.ID, CustomerID: row.CustomerID, SellerID: row.SellerID, Status: order.Status(row.Status),
		Total: total, ReservedUntil: null.Value(row.ReservedUntil).UTC(), Version: int(row.Version),
		Reference: row.Reference,
		CreatedBy: core.Operation{Actor: row.CreatedBy, Key: row.IdempotencyKey}, Cancellation: cancellationOf(row),
		CreatedAt: row.CreatedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(),
	}, err
}

func cancellationOf(row dbsqlc.Order) *order.Cancellation {
	if row.CancelledBy == nil {
		return nil
	}
	return &order.Cancellation{
		By:     core.Operation{Actor: *row.CancelledBy, Key: null.Value(row.CancelKey)},
		Reason: null.Value(row.CancelReason),
	}
}

// reservations implements [order.Reservations].
type reservations struct{ tx *session }

// Lock locks and loads in the global order: the order, then its stock by SKU.
// Extensions are counted under the order lock, so the count is exact.
func (s reservations) Lock(ctx context.Context, query order.ReservationQuery) (order.Reservation, error) {
	var prior []int64
	var extensions int64
	reads := []pgtx.Read{pgtx.Into(&prior, (*queries).FindExtension, dbsqlc.FindExtensionParams{
		OrderID: query.OrderID, CreatedBy: query.By.Actor, IdempotencyKey: query.By.Key,
	})}
	if query.CountExtensions > 0 {
		count := dbsqlc.CountExtensionsParams{OrderID: query.OrderID, AtMost: int32(query.CountExtensions)}
		reads = append(reads, pgtx.Into(&extensions, (*queries).CountExtensions, count))
	}
	o, stock, err := s.tx.lockOrder(ctx, query.OrderID, query.Grant, true, reads...)
	if err != nil {
		return order.Reservation{}, err
	}
	return order.Reservation{Order: o, Stock: stock, Repeated: len(prior) > 0, Extensions: int(extensions)}, nil
}

// Expired returns orders whose reservation has expired by the database clock.
func (s reservations) Expired(ctx context.Context, after order.Expiry, limit int) ([]order.Expiry, error) {
	return fetch.List(ctx, s.tx, (*queries).ExpiredReservations, dbsqlc.ExpiredReservationsParams{
		AfterTime: after.At, AfterID: after.OrderID, MaxOrders: int32(limit),
	}, func(row dbsqlc.ExpiredReservationsRow) (order.Expiry, error) {
		return order.Expiry{At: row.ReservedUntil, OrderID: row.ID}, nil
	})
}

// AddExtension records which operation extended a reservation.
func (s reservations) AddExtension(ctx context.Context, o *order.Order, by core.Operation) error {
	return s.tx.Writes().InsertExtension(ctx, dbsqlc.InsertExtensionParams{
		OrderID: o.ID, CreatedBy: by.Actor, IdempotencyKey: by.Key, ReservedUntil: o.ReservedUntil, CreatedAt: s.tx.now,
	})
}
