package storetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var orderCases = []storeCase{
	{"an order comes back as it was saved", orderRoundTrip},
	{"an order changes", orderChanges},
	{"a basket holds the products that exist", basketOfWhatExists},
	{"a basket holds the order its operation made", basketKnowsItsOperation},
	{"an operation makes one order", oneOrderOfAnOperation},
	{"a list shows the orders that the filter selects", orderFilter},
	{"orders are listed newest first", orderPages},
}

func (s Stores) order(t *testing.T, id int64) *order.Order {
	t.Helper()
	return query(t, s, func(ctx context.Context, tx payment.Tx) (*order.Order, error) { return tx.Orders.Get(ctx, id) })
}

func orderRoundTrip(t *testing.T, s Stores) {
	o := newOrder(1, "key-1")
	other := newOrder(2, "key-2")
	other.Lines = other.Lines[1:]
	s.save(t, o, other)
	equal(t, "order", s.order(t, 1), o)
	equal(t, "another order", s.order(t, 2), other)
}

func orderChanges(t *testing.T, s Stores) {
	o := newOrder(1, "key-1")
	s.save(t, o)
	o.Status, o.ReservedUntil, o.Version, o.UpdatedAt = order.Cancelled, time.Time{}, 2, minute(2)
	for _, by := range []core.Operation{operation("shop-7", "key-9"), operation("root", "")} { // a refund has no key
		o.Cancellation = &order.Cancellation{By: by, Reason: "sold out"}
		s.save(t, o)
		equal(t, "order", s.order(t, 1), o)
	}
}

func (s Stores) basket(t *testing.T, q order.BasketQuery) order.Basket {
	t.Helper()
	return query(t, s, func(ctx context.Context, tx payment.Tx) (order.Basket, error) { return tx.Orders.Basket(ctx, q) })
}

// basketQuery asks for products of everybody, without a reference.
func basketQuery(customerID string, by core.Operation, skus ...string) order.BasketQuery {
	return order.BasketQuery{CustomerID: customerID, By: by, SKUs: skus, Grant: core.GrantEverybody}
}

func basketOfWhatExists(t *testing.T, s Stores) {
	tea, cup := newProduct(1, "tea"), newProduct(2, "cup")
	s.save(t, tea, cup, newProduct(3, "spoon"))
	basket := s.basket(t, basketQuery("sber-42", operation("sber-42", "key-1"), "tea", "fork", "cup"))
	equal(t, "basket", basket, order.Basket{Stock: order.Stock{"tea": tea, "cup": cup}})
}

func basketKnowsItsOperation(t *testing.T, s Stores) {
	byCustomer, bySeller := newOrder(1, "key-1"), newOrder(2, "key-1")
	bySeller.CreatedBy.Actor = "shop-7"
	elsewhere := newOrder(3, "key-1")
	elsewhere.CustomerID, elsewhere.CreatedBy.Actor = "sber-43", "sber-43"
	s.save(t, byCustomer, bySeller, elsewhere)
	equal(t, "the customer's", s.basket(t, basketQuery("sber-42", operation("sber-42", "key-1"))).Prior, byCustomer)
	equal(t, "the seller's", s.basket(t, basketQuery("sber-42", operation("shop-7", "key-1"))).Prior, bySeller)
	equal(t, "another customer's", s.basket(t, basketQuery("sber-43", operation("sber-43", "key-1"))).Prior, elsewhere)
	for _, by := range []core.Operation{operation("sber-42", "key-2"), operation("sber-42", "KEY-1"), operation("sber-43", "key-1")} {
		if prior := s.basket(t, basketQuery("sber-42", by)).Prior; prior != nil {
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
	return query(t, s, func(ctx context.Context, tx payment.Tx) ([]*order.Order, error) { return tx.Orders.List(ctx, f, page) })
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

// partiesOfOrders are the customer, the seller, the creator and the reference of orders that
// were created one minute after the other.
var partiesOfOrders = [][4]string{
	{"ann", "shop-7", "ann", "A-1"}, {"ann", "shop-8", "ann", "A-2"}, {"ann", "shop-7", "shop-7", "A-1"},
	{"bob", "shop-7", "shop-7", "A-1"}, {"shop-7", "shop-9", "shop-7", "A-1"}, {"eve", "shop-7", "eve", ""},
}

// Every combination of a grant with what the other criteria ask for.
func orderFilter(t *testing.T, s Stores) {
	var all []*order.Order
	for i, p := range partiesOfOrders {
		o := newOrder(int64(i+1), "key-"+strconv.Itoa(i))
		o.CustomerID, o.SellerID, o.CreatedBy.Actor, o.Reference, o.CreatedAt = p[0], p[1], p[2], p[3], minute(i+1)
		if i%3 == 1 {
			o.Status, o.ReservedUntil = order.Paid, time.Time{}
		}
		s.save(t, o)
		all = append(all, o)
	}
	grants := map[core.Grant]string{ // and who has it
		core.GrantEverybody: "", {}: "ann", {Customer: "ann"}: "ann", {Customer: "shop-7"}: "shop-7",
		{Seller: "shop-7"}: "shop-7", {Seller: "shop-8"}: "shop-8", {Customer: "shop-7", Seller: "shop-7"}: "shop-7",
	}
	for grant, actor := range grants {
		for _, f := range criteria() {
			f.Grant = grant
			if f.Reference != "" {
				f.CreatedBy = actor // references belong to their creators
			}
			equal(t, fmt.Sprintf("%+v", f), s.ordersShown(t, f), selectedBy(f, all))
		}
	}
}

// criteria returns all combinations of what a filter can ask for.
func criteria() []order.Filter {
	var all []order.Filter
	for _, customerID := range []string{"", "ann", "bob"} {
		for _, status := range []order.Status{"", order.Paid} {
			for _, reference := range []string{"", "A-1", "a-1"} {
				for _, from := range []time.Time{{}, minute(4)} {
					all = append(all, order.Filter{
						CustomerID: customerID, Status: status, Reference: reference, Created: core.Period{From: from},
					})
				}
			}
		}
	}
	return all
}

// selectedBy returns the ids of the orders that a filter shows.
func selectedBy(f order.Filter, all []*order.Order) []int64 {
	var ids []int64
	for _, o := range all {
		granted := f.Grant.Everybody || f.Grant.Customer == o.CustomerID || f.Grant.Seller == o.SellerID
		if granted && (f.CustomerID == "" || f.CustomerID == o.CustomerID) && (f.Status == "" || f.Status == o.Status) &&
			(f.Reference == "" || f.Reference == o.Reference) && (f.CreatedBy == "" || f.CreatedBy == o.CreatedBy.Actor) &&
			!o.CreatedAt.Before(f.Created.From) {
			ids = append(ids, o.ID)
		}
	}
	return ids
}

func orderPages(t *testing.T, s Stores) {
	save := func(id int64, at time.Time) *order.Order {
		o := newOrder(id, "key-"+strconv.FormatInt(id, 10))
		o.CreatedAt = at
		s.save(t, o)
		return o
	}
	list := func(page core.Page) []*order.Order {
		return s.orders(t, order.Filter{Grant: core.GrantEverybody, CustomerID: "sber-42"}, page)
	}
	checkPages(t, save, list, func(o *order.Order) core.Position { return core.Position{CreatedAt: o.CreatedAt, ID: o.ID} })
}

var referenceCases = []storeCase{
	{"a basket knows whether its reference is taken", basketKnowsItsReference},
	{"a creator's orders of a customer have different references", oneOrderOfAReference},
	{"one of many concurrent orders gets their reference", concurrentOrdersOfAReference},
	{"a balance knows whether a reference is taken", balanceKnowsItsReference},
	{"entries of a customer and kind have different references", oneEntryOfAReference},
	{"one of many concurrent entries gets their reference", concurrentEntriesOfAReference},
	{"a product knows whether a reference is taken", productKnowsItsReference},
	{"a creator's adjustments of a product have different references", oneAdjustmentOfAReference},
	{"a creator's refunds of a payment have different references", oneRefundOfAReference},
	{"one of many concurrent adjustments gets their reference", concurrentAdjustmentsOfAReference},
}

// orderReferring is an order with the reference A-1 that has not been stored.
func orderReferring(id int64, key string) *order.Order {
	o := newOrder(id, key)
	o.Reference = "A-1"
	return o
}

func basketKnowsItsReference(t *testing.T, s Stores) {
	s.save(t, orderReferring(1, "key-1"), newOrder(2, "key-2"))
	equal(t, "reference", s.order(t, 1).Reference, "A-1")
	for _, c := range []struct {
		customerID, creator, reference string
		want                           bool
	}{
		{"sber-42", "sber-42", "A-1", true}, {"sber-42", "shop-7", "A-1", false}, {"sber-43", "sber-42", "A-1", false},
		{"sber-42", "sber-42", "a-1", false}, {"sber-42", "sber-42", "A-2", false}, {"sber-42", "sber-42", "", false},
	} {
		q := basketQuery(c.customerID, operation(c.creator, "key-9"))
		q.Reference = c.reference
		if basket := s.basket(t, q); basket.ReferenceTaken != c.want || basket.Prior != nil {
			t.Errorf("%q of %s by %s: taken = %v, prior %v", c.reference, c.customerID, c.creator, basket.ReferenceTaken, basket.Prior)
		}
	}
}

func oneOrderOfAReference(t *testing.T, s Stores) {
	otherCustomer, otherCreator := orderReferring(2, "key-2"), orderReferring(3, "key-1")
	otherCustomer.CustomerID, otherCreator.CreatedBy.Actor = "sber-43", "shop-7"
	s.save(t, orderReferring(1, "key-1"), otherCustomer, otherCreator, newOrder(4, "key-4"), newOrder(5, "key-5"))
	s.refuses(t, "a second order with one reference", orderReferring(6, "key-6"))
	equal(t, "orders", s.ordersShown(t, everything), []int64{1, 2, 3, 4, 5})
}

// The transactions share no locked row, so only the unique index can decide.
func concurrentOrdersOfAReference(t *testing.T, s Stores) {
	const n = 8
	var taken [n]bool
	s.concurrently(t, n, func(ctx context.Context, tx payment.Tx, i int) error {
		o := orderReferring(int64(i+1), "key-"+strconv.Itoa(i))
		q := basketQuery(o.CustomerID, o.CreatedBy)
		q.Reference = o.Reference
		basket, err := tx.Orders.Basket(ctx, q)
		if taken[i] = basket.ReferenceTaken; err != nil || taken[i] {
			return err
		}
		return tx.Orders.Save(ctx, o)
	})
	wantOneWinner(t, taken[:])
	equal(t, "orders", len(s.ordersShown(t, everything)), 1)
}

// wantOneWinner checks that exactly one transaction did not find the reference taken.
func wantOneWinner(t *testing.T, taken []bool) {
	t.Helper()
	winners := 0
	for _, lost := range taken {
		if !lost {
			winners++
		}
	}
	equal(t, "transactions that got the reference", winners, 1)
}

func balanceKnowsItsReference(t *testing.T, s Stores) {
	s.save(t, newLedgerEntry(1, rub("1.00"), operation("root", "key-1"))) // a credit with the reference A-1
	for _, c := range []struct {
		customerID string
		currency   core.Currency
		kind       payment.EntryKind
		reference  string
		want       bool
	}{
		{"sber-42", "RUB", payment.EntryCredit, "A-1", true},
		{"sber-42", "USD", payment.EntryCredit, "A-1", true},
		{"sber-42", "RUB", payment.EntryCharge, "A-1", false},
		{"sber-42", "RUB", payment.EntryCredit, "A-2", false},
		{"sber-42", "RUB", payment.EntryCredit, "", false},
		{"sber-43", "RUB", payment.EntryCredit, "A-1", false},
	} {
		q := balanceQuery(c.customerID, c.currency, operation("root", "key-9"))
		q.Kind, q.Reference = c.kind, c.reference
		if locked := s.lockBalance(t, q); locked.ReferenceTaken != c.want || locked.Prior != nil {
			t.Errorf("%+v: taken = %v, prior %v", c, locked.ReferenceTaken, locked.Prior)
		}
	}
}

func oneEntryOfAReference(t *testing.T, s Stores) {
	entry := func(id int64, kind payment.EntryKind, reference string) *payment.LedgerEntry {
		e := newLedgerEntry(id, rub("1.00"), core.Operation{})
		e.Kind, e.Reference = kind, reference
		return e
	}
	s.save(t, entry(1, payment.EntryCredit, "A-1"))
	s.save(t, entry(2, payment.EntryCharge, "A-1"))
	s.save(t, entry(3, payment.EntryCredit, ""))
	s.save(t, entry(4, payment.EntryCredit, ""))
	s.refuses(t, "a second credit with one reference", entry(5, payment.EntryCredit, "A-1"))
	equal(t, "entries", len(s.entries(t, ofCustomer, core.Page{Limit: 10})), 4)
}

// Half of the transactions change another balance, so they lock nothing that the others
// lock.
func concurrentEntriesOfAReference(t *testing.T, s Stores) {
	const n = 8
	currencies := []core.Currency{"RUB", "USD"}
	for i, currency := range currencies {
		s.save(t, newLedgerEntry(int64(100+i), money("1.00", currency), core.Operation{}))
	}
	var taken [n]bool
	s.concurrently(t, n, func(ctx context.Context, tx payment.Tx, i int) error {
		currency := currencies[i%len(currencies)]
		e := newLedgerEntry(int64(i+1), money("2.00", currency), operation(string(rune('a'+i)), "key-1"))
		e.Reference = "A-1"
		q := balanceQuery("sber-42", currency, e.By)
		q.Reference = e.Reference
		locked, err := tx.Balances.Lock(ctx, q)
		if taken[i] = locked.ReferenceTaken; err != nil || taken[i] {
			return err
		}
		return saveChange(ctx, tx, locked.Balance, e)
	})
	wantOneWinner(t, taken[:])
	equal(t, "entries", len(s.entries(t, ofCustomer, core.Page{Limit: 100})), len(currencies)+1)
}
