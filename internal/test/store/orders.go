package storetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var orderCases = []storeCase{
	{"an order that does not exist is not found", absentOrder},
	{"an order comes back as it was saved", orderRoundTrip},
	{"an order changes", orderChanges},
	{"a cancellation that a refund made has no key", cancellationWithoutKey},
	{"a basket holds the products that exist", basketOfWhatExists},
	{"a basket holds the order its operation made", basketKnowsItsOperation},
	{"an operation makes one order", oneOrderOfAnOperation},
	{"a list shows the orders that the filter selects", orderFilter},
	{"a list shows the orders with a reference, and those of a time", orderFilterByReferenceAndTime},
	{"orders are listed newest first", orderPages},
	{"transactions that lock a basket run one after the other", basketLock},
	{"transactions that lock an order run one after the other", orderLock},
}

func (s Stores) order(t *testing.T, id int64) *order.Order {
	t.Helper()
	var o *order.Order
	s.inTx(t, func(ctx context.Context, tx payment.Tx) (err error) {
		o, err = tx.Orders.Get(ctx, id)
		return err
	})
	return o
}

func absentOrder(t *testing.T, s Stores) {
	s.save(t, newOrder(1, "key-1"))
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		_, got := tx.Orders.Get(ctx, 2)
		_, locked := tx.Orders.Lock(ctx, 2, core.GrantEverybody)
		_, reserved := tx.Reservations.Lock(ctx, order.ReservationQuery{OrderID: 2, Grant: core.GrantEverybody})
		_, paid := tx.OrderPayments.Lock(ctx, 2, core.GrantEverybody)
		for name, err := range map[string]error{"Get": got, "Lock": locked, "Reservations.Lock": reserved, "OrderPaymentsStore.Lock": paid} {
			if !errors.Is(err, core.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
}

func orderRoundTrip(t *testing.T, s Stores) {
	o := newOrder(1, "key-1")
	other := newOrder(2, "key-2")
	other.Lines = other.Lines[1:]
	s.save(t, o, other)
	equal(t, "order", s.order(t, 1), o)
	equal(t, "another order", s.order(t, 2), other)
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
		locked, err := tx.Orders.Lock(ctx, 1, core.GrantEverybody)
		equal(t, "locked order", locked, o)
		return err
	})
}

func orderChanges(t *testing.T, s Stores) {
	o := newOrder(1, "key-1")
	s.save(t, o)
	o.Status, o.ReservedUntil, o.Version, o.UpdatedAt = order.Cancelled, time.Time{}, 2, minute(2)
	o.Cancellation = &order.Cancellation{By: operation("shop-7", "key-9"), Reason: "sold out"}
	s.save(t, o)
	equal(t, "order", s.order(t, 1), o)
}

func cancellationWithoutKey(t *testing.T, s Stores) {
	o := newOrder(1, "key-1")
	s.save(t, o)
	o.Status, o.ReservedUntil, o.Version = order.Cancelled, time.Time{}, 2
	o.Cancellation = &order.Cancellation{By: operation("root", "")}
	s.save(t, o)
	equal(t, "order", s.order(t, 1), o)
}

func (s Stores) basket(t *testing.T, customerID string, by core.Operation, skus ...string) order.Basket {
	t.Helper()
	var b order.Basket
	s.inTx(t, func(ctx context.Context, tx payment.Tx) (err error) {
		b, err = tx.Orders.Basket(ctx, basketQuery(customerID, by, skus...))
		return err
	})
	return b
}

// basketQuery asks for products of everybody, without a reference.
func basketQuery(customerID string, by core.Operation, skus ...string) order.BasketQuery {
	return order.BasketQuery{CustomerID: customerID, By: by, SKUs: skus, Grant: core.GrantEverybody}
}

func basketOfWhatExists(t *testing.T, s Stores) {
	tea, cup := newProduct(1, "tea"), newProduct(2, "cup")
	s.save(t, tea, cup, newProduct(3, "spoon"))
	basket := s.basket(t, "sber-42", operation("sber-42", "key-1"), "tea", "fork", "cup")
	equal(t, "basket", basket, order.Basket{Stock: order.Stock{"tea": stored(tea), "cup": stored(cup)}})
}

func basketKnowsItsOperation(t *testing.T, s Stores) {
	byCustomer, bySeller := newOrder(1, "key-1"), newOrder(2, "key-1")
	bySeller.CreatedBy.Actor = "shop-7"
	elsewhere := newOrder(3, "key-1")
	elsewhere.CustomerID, elsewhere.CreatedBy.Actor = "sber-43", "sber-43"
	s.save(t, byCustomer, bySeller, elsewhere)
	equal(t, "the customer's", s.basket(t, "sber-42", operation("sber-42", "key-1")).Prior, byCustomer)
	equal(t, "the seller's", s.basket(t, "sber-42", operation("shop-7", "key-1")).Prior, bySeller)
	equal(t, "another customer's", s.basket(t, "sber-43", operation("sber-43", "key-1")).Prior, elsewhere)
	for _, by := range []core.Operation{operation("sber-42", "key-2"), operation("sber-42", "KEY-1"), operation("sber-43", "key-1")} {
		if prior := s.basket(t, "sber-42", by).Prior; prior != nil {
			t.Errorf("%v has made order %d", by, prior.ID)
		}
	}
}

func oneOrderOfAnOperation(t *testing.T, s Stores) {
	s.save(t, newOrder(1, "key-1"))
	s.refuses(t, "a second order of one operation", newOrder(2, "key-1"))
	equal(t, "orders", len(s.orders(t, everything, core.Page{Limit: 10})), 1)
}

// everything is the filter that shows all orders.
var everything = order.Filter{Grant: core.GrantEverybody}

func (s Stores) orders(t *testing.T, f order.Filter, page core.Page) []*order.Order {
	t.Helper()
	var found []*order.Order
	s.inTx(t, func(ctx context.Context, tx payment.Tx) (err error) {
		found, err = tx.Orders.List(ctx, f, page)
		return err
	})
	return found
}

// ordersShown returns the ids of a list, sorted.
func (s Stores) ordersShown(t *testing.T, f order.Filter) []int64 {
	t.Helper()
	var ids []int64
	for _, o := range s.orders(t, f, core.Page{Limit: 100}) {
		ids = append(ids, o.ID)
	}
	slices.Sort(ids)
	return ids
}

func orderFilter(t *testing.T, s Stores) {
	parties := map[int64][2]string{1: {"ann", "shop-7"}, 2: {"ann", "shop-8"}, 3: {"bob", "shop-7"}, 4: {"shop-7", "shop-9"}}
	for id, p := range parties {
		o := newOrder(id, "key-"+strconv.FormatInt(id, 10))
		o.CustomerID, o.SellerID = p[0], p[1]
		if id == 2 {
			o.Status, o.ReservedUntil = order.Paid, time.Time{}
		}
		s.save(t, o)
	}
	for name, c := range map[string]struct {
		filter order.Filter
		want   []int64
	}{
		"of everybody":                   {order.Filter{Grant: core.GrantEverybody}, []int64{1, 2, 3, 4}},
		"of nobody":                      {order.Filter{}, nil},
		"of nobody, for one customer":    {order.Filter{CustomerID: "ann"}, nil},
		"of a customer":                  {order.Filter{Grant: core.Grant{Customer: "ann"}}, []int64{1, 2}},
		"of a seller":                    {order.Filter{Grant: core.Grant{Seller: "shop-7"}}, []int64{1, 3}},
		"of who buys and sells":          {order.Filter{Grant: core.Grant{Customer: "shop-7", Seller: "shop-7"}}, []int64{1, 3, 4}},
		"of everybody, for one customer": {order.Filter{Grant: core.GrantEverybody, CustomerID: "ann"}, []int64{1, 2}},
		"of everybody, by status":        {order.Filter{Grant: core.GrantEverybody, Status: order.Paid}, []int64{2}},
		"of a seller, for one customer":  {order.Filter{Grant: core.Grant{Seller: "shop-7"}, CustomerID: "bob"}, []int64{3}},
		"of one customer, for another":   {order.Filter{Grant: core.Grant{Customer: "ann"}, CustomerID: "bob"}, nil},
		"by all criteria": {order.Filter{
			Grant: core.Grant{Seller: "shop-8"}, CustomerID: "ann", Status: order.Paid,
		}, []int64{2}},
	} {
		equal(t, name, s.ordersShown(t, c.filter), c.want)
	}
}

// referringOrders are the customer, the seller, the creator and the reference of orders that
// were created one minute after the other.
var referringOrders = [][4]string{
	{"ann", "shop-7", "ann", "A-1"}, {"ann", "shop-8", "ann", "A-2"}, {"ann", "shop-7", "shop-7", "A-1"},
	{"bob", "shop-7", "shop-7", "A-1"}, {"shop-7", "shop-9", "shop-7", "A-1"}, {"eve", "shop-7", "eve", ""},
}

func orderFilterByReferenceAndTime(t *testing.T, s Stores) {
	for i, p := range referringOrders {
		o := newOrder(int64(i+1), "key-"+strconv.Itoa(i))
		o.CustomerID, o.SellerID, o.CreatedBy.Actor, o.Reference, o.CreatedAt = p[0], p[1], p[2], p[3], minute(i+1)
		s.save(t, o)
	}
	everybody, ann := core.GrantEverybody, core.Grant{Customer: "ann"}
	shop, buyer := core.Grant{Seller: "shop-7"}, core.Grant{Customer: "shop-7"}
	both := core.Grant{Customer: "shop-7", Seller: "shop-7"}
	for name, c := range map[string]struct {
		filter order.Filter
		want   []int64
	}{
		"of everybody":                           {order.Filter{Grant: everybody, Reference: "A-1"}, []int64{1, 3, 4, 5}},
		"of everybody, for one customer":         {order.Filter{Grant: everybody, CustomerID: "ann", Reference: "A-1"}, []int64{1, 3}},
		"of everybody, for one of many":          {order.Filter{Grant: everybody, CustomerID: "bob", Reference: "A-1"}, []int64{4}},
		"of everybody, with another status":      {order.Filter{Grant: everybody, Reference: "A-1", Status: order.Paid}, nil},
		"of everybody, with no such reference":   {order.Filter{Grant: everybody, Reference: "a-1"}, nil},
		"of everybody, from a time":              {order.Filter{Grant: everybody, Created: core.Period{From: minute(5)}}, []int64{5, 6}},
		"with a reference, from a time":          {order.Filter{Grant: everybody, Reference: "A-1", Created: core.Period{From: minute(4)}}, []int64{4, 5}},
		"of nobody":                              {order.Filter{Reference: "A-1", CreatedBy: "ann"}, nil},
		"of nobody, for one customer":            {order.Filter{CustomerID: "ann", Reference: "A-1", CreatedBy: "ann"}, nil},
		"by a customer":                          {order.Filter{Grant: ann, Reference: "A-1", CreatedBy: "ann"}, []int64{1}},
		"by a customer, for the same":            {order.Filter{Grant: ann, CustomerID: "ann", Reference: "A-1", CreatedBy: "ann"}, []int64{1}},
		"by a customer, for another":             {order.Filter{Grant: ann, CustomerID: "bob", Reference: "A-1", CreatedBy: "ann"}, nil},
		"by a seller":                            {order.Filter{Grant: shop, Reference: "A-1", CreatedBy: "shop-7"}, []int64{3, 4}},
		"by a seller, for one customer":          {order.Filter{Grant: shop, CustomerID: "ann", Reference: "A-1", CreatedBy: "shop-7"}, []int64{3}},
		"by a seller, with another status":       {order.Filter{Grant: shop, Reference: "A-1", CreatedBy: "shop-7", Status: order.Paid}, nil},
		"by a seller, with a reference of ann's": {order.Filter{Grant: shop, Reference: "A-2", CreatedBy: "shop-7"}, nil},
		"by a seller, from a time with it":       {order.Filter{Grant: shop, Reference: "A-1", CreatedBy: "shop-7", Created: core.Period{From: minute(4)}}, []int64{4}},
		"by who buys and sells":                  {order.Filter{Grant: both, Reference: "A-1", CreatedBy: "shop-7"}, []int64{3, 4, 5}},
		"by who buys and no longer sells":        {order.Filter{Grant: buyer, Reference: "A-1", CreatedBy: "shop-7"}, []int64{5}},
		"of a seller, from a time":               {order.Filter{Grant: shop, Created: core.Period{From: minute(4)}}, []int64{4, 6}},
		"of a seller, a customer, from a time":   {order.Filter{Grant: shop, CustomerID: "bob", Created: core.Period{From: minute(5)}}, nil},
	} {
		equal(t, name, s.ordersShown(t, c.filter), c.want)
	}
}

func orderPages(t *testing.T, s Stores) {
	want := []*order.Order{}
	for id := int64(1); id <= 5; id++ {
		o := newOrder(id, "key-"+strconv.FormatInt(id, 10))
		o.CreatedAt = minute(int(id) / 2) // 2 and 3 are simultaneous, and so are 4 and 5
		s.save(t, o)
		want = append([]*order.Order{o}, want...)
	}
	newer := int64(len(want))
	list := func(page core.Page) []*order.Order {
		return s.orders(t, order.Filter{Grant: core.GrantEverybody, CustomerID: "sber-42"}, page)
	}
	at := func(o *order.Order) core.Position { return core.Position{CreatedAt: o.CreatedAt, ID: o.ID} }
	found := pages(t, 2, list, at, func() {
		newer++
		s.save(t, newOrder(newer, "key-"+strconv.FormatInt(newer, 10))) // above the page, so that it is not read
	})
	equal(t, "orders, with all their lines", found, want)
}

func basketLock(t *testing.T, s Stores) {
	s.save(t, newProduct(1, "cup"), newProduct(2, "tea"))
	s.concurrently(t, 20, func(ctx context.Context, tx payment.Tx, i int) error {
		skus := []string{"cup", "tea"}
		if i%2 == 0 {
			slices.Reverse(skus)
		}
		basket, err := tx.Orders.Basket(ctx, basketQuery("sber-42", operation("sber-42", strconv.Itoa(i)), skus...))
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // gives the others time to interfere, if they can
		basket.Stock["cup"].Reserved++
		basket.Stock["tea"].Reserved += 2
		return tx.Products.SaveStock(ctx, basket.Stock)
	})
	equal(t, "cups", s.product(t, "cup").Reserved, int64(20))
	equal(t, "tea", s.product(t, "tea").Reserved, int64(40))
}

func orderLock(t *testing.T, s Stores) {
	s.save(t, newOrder(1, "key-1"), newProduct(1, "tea"))
	s.concurrently(t, 24, func(ctx context.Context, tx payment.Tx, i int) error {
		o, err := lockOneWayOrAnother(ctx, tx, i)
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // gives the others time to interfere, if they can
		o.Version++
		return tx.Orders.Save(ctx, o)
	})
	equal(t, "version", s.order(t, 1).Version, 25)
}

// lockOneWayOrAnother takes order 1 by one of the three ports that lock it.
func lockOneWayOrAnother(ctx context.Context, tx payment.Tx, i int) (*order.Order, error) {
	switch i % 3 {
	case 0:
		return tx.Orders.Lock(ctx, 1, core.GrantEverybody)
	case 1:
		reservation, err := tx.Reservations.Lock(ctx, order.ReservationQuery{OrderID: 1, Grant: core.GrantEverybody})
		return reservation.Order, err
	}
	op, err := tx.OrderPayments.Lock(ctx, 1, core.GrantEverybody)
	if err != nil {
		return nil, err
	}
	return op.Order, nil
}
