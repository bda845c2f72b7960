package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// orders implements [order.Orders].
type orders struct{ t *tx }

// Basket locks the products that the grant covers, and loads the order that the
// operation created before. The look-up of the reference comes after the locks, so that
// it sees the order of a transaction that held them.
func (s orders) Basket(ctx context.Context, query order.BasketQuery) (order.Basket, error) {
	if s.t.member != nil {
		return ask(s.t.member, basketWant(query), s.t.group.basket)
	}
	var prior []dbsqlc.OrderByOperationRow
	var others, locked []dbsqlc.Product
	var referred []int64
	var unpaid int64
	seller := optional(query.Grant.Seller)
	reads := []read{
		func(q *dbsqlc.Queries) (err error) {
			prior, err = q.OrderByOperation(ctx, dbsqlc.OrderByOperationParams{
				CustomerID: query.CustomerID, CreatedBy: query.By.Actor, IdempotencyKey: query.By.Key,
			})
			return err
		},
		func(q *dbsqlc.Queries) (err error) {
			locked, err = q.LockProducts(ctx, dbsqlc.LockProductsParams{
				Skus: query.SKUs, Everybody: query.Grant.Everybody, AsSeller: seller,
			})
			return err
		},
	}
	if !query.Grant.Everybody {
		reads = append(reads, func(q *dbsqlc.Queries) (err error) {
			others, err = q.ProductsOfOthers(ctx, dbsqlc.ProductsOfOthersParams{Skus: query.SKUs, AsSeller: seller})
			return err
		})
	}
	if query.Reference != "" {
		reads = append(reads, func(q *dbsqlc.Queries) (err error) {
			referred, err = q.OrderByReference(ctx, dbsqlc.OrderByReferenceParams{
				CustomerID: query.CustomerID, CreatedBy: query.By.Actor, Reference: query.Reference,
			})
			return err
		})
	}
	if query.CountUnpaid > 0 {
		reads = append(countUnpaid(ctx, query, &unpaid), reads...)
	}
	if err := s.t.load(ctx, reads...); err != nil {
		return order.Basket{}, err
	}
	basket := order.Basket{ReferenceTaken: len(referred) > 0, Unpaid: int(unpaid)}
	var err error
	if basket.Stock, err = stockOf(slices.Concat(others, locked)); err != nil || len(prior) == 0 {
		return basket, err
	}
	basket.Prior, err = oneOrder(linesOf(prior))
	return basket, err
}

// countUnpaid locks the pair of customer and actor, and counts its unpaid orders in a
// statement of its own: its snapshot is younger than the lock, so it sees what the last
// holder has committed.
//
// The lock comes after the key and before everything else in the global order. Only
// CreateOrder takes it, when it holds no row, so it is part of no deadlock. It cannot meet
// the locks of keys: advisory locks of two integers are other locks than those of one.
func countUnpaid(ctx context.Context, query order.BasketQuery, n *int64) []read {
	lock := lockOfCreator(query.CustomerID, query.By.Actor)
	return []read{
		func(q *dbsqlc.Queries) error { return q.LockCreator(ctx, lock) },
		func(q *dbsqlc.Queries) (err error) {
			*n, err = q.CountUnpaidOrders(ctx, dbsqlc.CountUnpaidOrdersParams{
				CustomerID: query.CustomerID, CreatedBy: query.By.Actor, AtMost: int32(query.CountUnpaid),
			})
			return err
		},
	}
}

// lockOfCreator returns the advisory lock of a pair of customer and actor.
func lockOfCreator(customer, actor string) dbsqlc.LockCreatorParams {
	sum := sha256.Sum256([]byte(customer + "\x00" + actor))
	return dbsqlc.LockCreatorParams{
		First: int32(binary.BigEndian.Uint32(sum[0:])), Second: int32(binary.BigEndian.Uint32(sum[4:])),
	}
}

// Get loads an order.
func (s orders) Get(ctx context.Context, id int64) (*order.Order, error) {
	var rows []dbsqlc.OrderByIDRow
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = q.OrderByID(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return oneOrder(linesOf(rows))
}

// Lock locks and loads an order that the grant covers.
func (s orders) Lock(ctx context.Context, id int64, g core.Grant) (*order.Order, error) {
	var exists bool
	var rows []dbsqlc.LockOrderRow
	if err := s.t.load(ctx, orderExists(ctx, id, &exists), lockOrder(ctx, id, g, &rows)); err != nil {
		return nil, err
	}
	return lockedOrder(rows, exists)
}

// List returns a page of orders and one more, newest first.
func (s orders) List(ctx context.Context, f order.Filter, page core.Page) ([]*order.Order, error) {
	var lines []orderLine
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		lines, err = listOrders(ctx, q, f, page)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ordersOf(lines)
}

// listOrders runs the query that has an index for what is asked: the orders of
// everybody, of a customer or a seller, or of a customer with a seller.
func listOrders(ctx context.Context, q *dbsqlc.Queries, f order.Filter, page core.Page) ([]orderLine, error) {
	customer, seller := f.Grant.Customer, f.Grant.Seller
	switch {
	case f.Reference != "":
		return listOrdersByReference(ctx, q, f, page)
	case f.Grant.Everybody && f.CustomerID == "":
		rows, err := q.ListOrders(ctx, dbsqlc.ListOrdersParams{
			Statuses:   statusesOf(f),
			BeforeTime: optionalTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: optionalTime(f.Created.From),
			Rows: int32(page.Limit + 1),
		})
		return linesOf(rows), err
	case !f.Grant.Everybody && f.CustomerID != "" && f.CustomerID != customer:
		rows, err := q.ListOrdersBetween(ctx, dbsqlc.ListOrdersBetweenParams{
			SellerID: seller, CustomerID: f.CustomerID, Statuses: statusesOf(f),
			BeforeTime: optionalTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: optionalTime(f.Created.From),
			Rows: int32(page.Limit + 1),
		})
		return linesOf(rows), err
	case f.CustomerID != "":
		customer, seller = f.CustomerID, ""
	}
	rows, err := q.ListOrdersOf(ctx, dbsqlc.ListOrdersOfParams{
		CustomerID: optional(customer), SellerID: optional(seller), Statuses: statusesOf(f),
		BeforeTime: optionalTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: optionalTime(f.Created.From),
		Rows: int32(page.Limit + 1),
	})
	return linesOf(rows), err
}

// listOrdersByReference finds what [listOrders] finds, among the orders with a reference.
func listOrdersByReference(ctx context.Context, q *dbsqlc.Queries, f order.Filter, page core.Page) ([]orderLine, error) {
	rows, err := q.ListOrdersByReference(ctx, dbsqlc.ListOrdersByReferenceParams{
		CustomerID: optional(f.CustomerID), CreatedBy: f.CreatedBy, Reference: f.Reference, Statuses: statusesOf(f),
		Everybody: f.Grant.Everybody, AsCustomer: f.Grant.Customer, AsSeller: f.Grant.Seller,
		BeforeTime: optionalTime(page.After.CreatedAt), BeforeID: page.After.ID, CreatedFrom: optionalTime(f.Created.From),
		Rows: int32(page.Limit + 1),
	})
	return linesOf(rows), err
}

// statusesOf returns the status that a filter asks for, or all.
func statusesOf(f order.Filter) []string {
	if f.Status != "" {
		return []string{string(f.Status)}
	}
	var all []string
	for status := range order.Transitions {
		all = append(all, string(status))
	}
	return all
}

// Save inserts or updates an order. The lines never change, so only a new order has
// lines to write.
func (s orders) Save(ctx context.Context, o *order.Order) error {
	return s.t.write(ctx, savedOrder{o})
}

// savedOrder is an order that a command has created or changed.
type savedOrder struct{ *order.Order }

func (o savedOrder) alone(ctx context.Context, q *dbsqlc.Queries) error {
	if !o.New {
		return q.UpdateOrder(ctx, updateOrderParams(o.Order))
	}
	err := q.InsertOrder(ctx, dbsqlc.InsertOrderParams{
		ID: o.ID, CustomerID: o.CustomerID, SellerID: o.SellerID, Status: string(o.Status),
		Total: o.Total.Decimal(), Currency: string(o.Total.Currency()),
		ReservedUntil: optionalTime(o.ReservedUntil), Version: int64(o.Version),
		CreatedBy: o.CreatedBy.Actor, IdempotencyKey: o.CreatedBy.Key,
		CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, Reference: o.Reference,
	})
	if err != nil {
		return err
	}
	items := dbsqlc.InsertOrderItemsParams{OrderID: o.ID}
	for i, l := range o.Lines {
		items.Lines = append(items.Lines, int32(i+1))
		items.Skus = append(items.Skus, l.SKU)
		items.Quantities = append(items.Quantities, int32(l.Quantity))
		items.UnitPrices = append(items.UnitPrices, l.UnitPrice.Decimal())
	}
	return q.InsertOrderItems(ctx, items)
}

// join lets later members find the order, and counts it among those of its creator while it
// is unpaid.
func (o savedOrder) join(g *group) {
	by := creator{o.CustomerID, o.CreatedBy.Actor}
	if o.New {
		g.newOrders = append(g.newOrders, o)
		g.unpaidOrders[by]++
		g.ordersBy[operationOf{o.CustomerID, o.CreatedBy}] = o.Order
		if o.Reference != "" {
			g.orderRefs[orderRef{by, o.Reference}] = true
		}
		return
	}
	if unpaid(g.orders[o.ID]) && !unpaid(o.Order) {
		g.unpaidOrders[by]--
	}
	g.oldOrders.add(o.ID, g.orders[o.ID])
	g.orders[o.ID] = o.Order
}

// unpaid reports whether an order counts among the unpaid ones of its creator.
func unpaid(o *order.Order) bool {
	return o.Status == order.PendingPayment || o.Status == order.PaymentProcessing
}

func newOrdersParams(created []savedOrder) (dbsqlc.InsertOrdersParams, dbsqlc.InsertItemsOfOrdersParams) {
	var p dbsqlc.InsertOrdersParams
	var items dbsqlc.InsertItemsOfOrdersParams
	for _, o := range created {
		p.Ids, p.CustomerIds = append(p.Ids, o.ID), append(p.CustomerIds, o.CustomerID)
		p.SellerIds, p.Statuses = append(p.SellerIds, o.SellerID), append(p.Statuses, string(o.Status))
		p.Totals, p.Currencies = append(p.Totals, o.Total.Decimal()), append(p.Currencies, string(o.Total.Currency()))
		p.ReservedUntil, p.Versions = append(p.ReservedUntil, o.ReservedUntil), append(p.Versions, int64(o.Version))
		p.CreatedBy, p.IdempotencyKeys = append(p.CreatedBy, o.CreatedBy.Actor), append(p.IdempotencyKeys, o.CreatedBy.Key)
		p.CreatedAt, p.UpdatedAt = append(p.CreatedAt, o.CreatedAt), append(p.UpdatedAt, o.UpdatedAt)
		p.Refs = append(p.Refs, o.Reference)
		for i, l := range o.Lines {
			items.OrderIds, items.Lines = append(items.OrderIds, o.ID), append(items.Lines, int32(i+1))
			items.Skus, items.Quantities = append(items.Skus, l.SKU), append(items.Quantities, int32(l.Quantity))
			items.UnitPrices = append(items.UnitPrices, l.UnitPrice.Decimal())
		}
	}
	return p, items
}

func updateOrderParams(o *order.Order) dbsqlc.UpdateOrderParams {
	p := dbsqlc.UpdateOrderParams{
		ID: o.ID, Status: string(o.Status), ReservedUntil: optionalTime(o.ReservedUntil),
		Version: int64(o.Version), UpdatedAt: o.UpdatedAt,
	}
	if c := o.Cancellation; c != nil {
		p.CancelledBy, p.CancelKey, p.CancelReason = new(c.By.Actor), optional(c.By.Key), new(c.Reason)
	}
	return p
}
