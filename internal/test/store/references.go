package storetest

import (
	"context"
	"strconv"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var referenceCases = []storeCase{
	{"a basket knows whether its reference is taken", basketKnowsItsReference},
	{"a creator's orders of a customer have different references", oneOrderOfAReference},
	{"one of many concurrent orders gets their reference", concurrentOrdersOfAReference},
	{"a balance knows whether a reference is taken", balanceKnowsItsReference},
	{"entries of a customer and kind have different references", oneEntryOfAReference},
	{"one of many concurrent entries gets their reference", concurrentEntriesOfAReference},
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

// The transactions lock nothing that they share, so only the unique index can decide.
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
