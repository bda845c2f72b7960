// Package storetest is the test suite of the ports of the core and of the idempotency
// guard. PostgreSQL and the fake in memory pass the same suite, so tests of use cases can
// rely on the fake.
package storetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/guardtest"
)

// Stores is one empty database and the ways into it.
type Stores struct {
	Orders    order.Store
	Payments  payment.Store
	Customers customer.Store
	Audit     audit.Store
	Keys      Keys
	// Replica is the store of the same keys in a second process.
	Replica Keys
	// Events reads the outbox in the order in which it was written: each event's type and
	// aggregate, "order.paid order/1".
	Events func(t testing.TB) []string
}

// Keys is the store of the guard, with the clean-up of expired records.
type Keys interface {
	guard.LookupStore
	DeleteExpired(ctx context.Context, limit int) (int, error)
}

// Run runs the suite. open returns an empty database for each test.
func Run(t *testing.T, open func(t *testing.T) Stores) {
	t.Helper()
	all := [][]storeCase{
		productCases, orderCases, referenceCases, reservationCases, boundCases, grantCases, paymentCases, balanceCases, ledgerCases, customerCases, eventCases, txCases,
	}
	runCases(t, slices.Concat(all...), open)
	RunKeys(t, open)
}

// RunKeys runs the part of the suite that is about the store of the guard.
func RunKeys(t *testing.T, open func(t *testing.T) Stores) {
	t.Helper()
	runCases(t, keyCases, open)
	t.Run("idempotency", func(t *testing.T) {
		t.Parallel()
		guardtest.Run(t, func(t *testing.T) guardtest.Fixture {
			t.Helper()
			return guardFixture(open(t))
		})
	})
}

func runCases(t *testing.T, cases []storeCase, open func(t *testing.T) Stores) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t))
		})
	}
}

type storeCase struct {
	name string
	run  func(t *testing.T, s Stores)
}

// inTx runs fn in a transaction that must succeed.
func (s Stores) inTx(t *testing.T, fn func(ctx context.Context, tx payment.Tx) error) {
	t.Helper()
	if err := s.Payments.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

// query returns what fn reads in a transaction that must succeed.
func query[T any](t *testing.T, s Stores, fn func(ctx context.Context, tx payment.Tx) (T, error)) (found T) {
	t.Helper()
	s.inTx(t, func(ctx context.Context, tx payment.Tx) (err error) {
		found, err = fn(ctx, tx)
		return err
	})
	return found
}

// exactly distinguishes values that are equal in arithmetic: times in different zones,
// amounts with different numbers of decimals. It ignores UUIDs, which the store makes.
var exactly = cmp.Options{
	cmpopts.IgnoreFields(payment.Payment{}, "UUID"), cmpopts.IgnoreFields(payment.Refund{}, "UUID"),
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b core.Money) bool { return a.String() == b.String() }),
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.Location() == b.Location() }),
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, exactly); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// minute returns a time of the tests, to the microsecond.
func minute(n int) time.Time {
	return time.Date(2026, time.March, 1, 12, n, 0, 123_456_000, time.UTC)
}

func money(amount string, currency core.Currency) core.Money {
	m, err := core.ParseMoney(amount, string(currency))
	if err != nil {
		panic(err)
	}
	return m
}

func rub(amount string) core.Money { return money(amount, "RUB") }

func operation(actor, key string) core.Operation { return core.Operation{Actor: actor, Key: key} }

// newProduct is a product that has not been stored.
func newProduct(id int64, sku string) *order.Product {
	return &order.Product{
		ID: id, SKU: sku, SellerID: "shop-7", Name: "Tea, " + sku, Price: rub("1999.00"), OnHand: 100, Version: 1,
		CreatedAt: minute(int(id)), UpdatedAt: minute(int(id) + 1), New: true,
	}
}

// newOrder is an order that has not been stored.
func newOrder(id int64, key string) *order.Order {
	return &order.Order{
		ID: id, CustomerID: "sber-42", SellerID: "shop-7", Status: order.PendingPayment,
		Lines:         []order.Line{{SKU: "tea", Quantity: 2, UnitPrice: rub("1999.00")}, {SKU: "cup", Quantity: 1, UnitPrice: rub("0.50")}},
		Total:         rub("3998.50"),
		ReservedUntil: minute(60), CreatedBy: operation("sber-42", key), Version: 1,
		CreatedAt: minute(int(id)), UpdatedAt: minute(int(id)), New: true,
	}
}

// newEvent is an event about an order.
func newEvent(eventType core.EventType) core.Event { return newOrder(1, "key-1").Event(eventType) }

// newPayment is a payment of an order that has not been stored.
func newPayment(id, orderID int64, key string) *payment.Payment {
	return &payment.Payment{
		ID: id, OrderID: orderID, Method: payment.FromBalance, Amount: rub("3998.50"), Status: payment.Captured,
		By: operation("sber-42", key), CreatedAt: minute(int(id)), New: true,
	}
}

// newRefund is a refund that has not been stored.
func newRefund(id int64, p *payment.Payment, by core.Operation) *payment.Refund {
	return &payment.Refund{
		ID: id, PaymentID: p.ID, OrderID: p.OrderID, Amount: rub("10.05"), Status: payment.RefundSucceeded,
		Reason: "too late", Reference: "ticket-" + strconv.FormatInt(id, 10), By: by, CreatedAt: minute(int(id)), New: true,
	}
}

const account payment.Account = "customer/sber-42"

// newLedgerEntry is a credit that brings a customer balance to an amount.
func newLedgerEntry(id int64, after core.Money, by core.Operation) *payment.LedgerEntry {
	return &payment.LedgerEntry{
		ID: id, Kind: payment.EntryCredit, Debit: payment.WorldAccount, Credit: account,
		Amount: money("1", after.Currency()), CustomerID: "sber-42", BalanceAfter: after,
		Description: "a gift", Reference: "A-" + strconv.FormatInt(id, 10), By: by, CreatedAt: minute(int(id)),
	}
}

// entryAt is an entry at a position that no lock has determined.
type entryAt struct {
	entry    *payment.LedgerEntry
	position int64
}

// save stores things in one transaction, after which they are no longer new.
func (s Stores) save(t *testing.T, things ...any) {
	t.Helper()
	s.inTx(t, func(ctx context.Context, tx payment.Tx) error { return save(ctx, tx, things...) })
	for _, thing := range things {
		markStored(thing)
	}
}

// markStored clears New, as the commit of an aggregate does.
func markStored(thing any) {
	switch v := thing.(type) {
	case *order.Product:
		v.New = false
	case *order.Order:
		v.New = false
	case *payment.Payment:
		v.New = false
	case *payment.Refund:
		v.New = false
	}
}

// refuses checks that storing the things fails as a whole.
func (s Stores) refuses(t *testing.T, what string, things ...any) {
	t.Helper()
	err := s.Payments.InTx(t.Context(), func(ctx context.Context, tx payment.Tx) error { return save(ctx, tx, things...) })
	if err == nil {
		t.Errorf("%s was stored", what)
	}
}

func save(ctx context.Context, tx payment.Tx, things ...any) error {
	for _, thing := range things {
		if err := saveOne(ctx, tx, thing); err != nil {
			return err
		}
	}
	return nil
}

func saveOne(ctx context.Context, tx payment.Tx, thing any) error {
	switch v := thing.(type) {
	case *order.Product:
		return tx.Products.Save(ctx, v)
	case *order.Order:
		if !v.New { // a row is locked before it is changed
			if _, err := tx.Orders.Lock(ctx, v.ID, core.GrantEverybody); err != nil {
				return err
			}
		}
		return tx.Orders.Save(ctx, v)
	case order.Stock:
		for sku := range v {
			if _, err := tx.Products.Lock(ctx, sku, core.GrantEverybody); err != nil {
				return err
			}
		}
		return tx.Products.SaveStock(ctx, v)
	case *payment.Payment:
		return tx.Payments.Save(ctx, v)
	case *payment.Refund:
		return tx.Refunds.Save(ctx, v)
	case *payment.LedgerEntry:
		locked, err := tx.Balances.Lock(ctx, balanceQuery(v.CustomerID, v.BalanceAfter.Currency(), core.Operation{}))
		if err != nil {
			return err
		}
		locked.Balance.Amount = v.BalanceAfter
		return saveChange(ctx, tx, locked.Balance, v)
	case entryAt:
		v.entry.Position = v.position
		return tx.Ledger.Append(ctx, v.entry)
	case *order.StockAdjustment:
		return tx.StockAdjustments.Add(ctx, v)
	case core.Event:
		return tx.Outbox.Add(ctx, v)
	case core.AuditEntry:
		return tx.AuditLog.Add(ctx, v)
	}
	panic("no port stores such a thing")
}

// checkPages saves five things of three times, and reads their list page by page, while
// newer things are added above the page.
func checkPages[T any](
	t *testing.T, save func(id int64, at time.Time) T, list func(core.Page) []T, at func(T) core.Position,
) {
	t.Helper()
	var want []T
	for id := range int64(5) {
		want = append([]T{save(id+1, minute(int(id+1)/2))}, want...) // 2 and 3 are simultaneous, and so are 4 and 5
	}
	equal(t, "first page and one more", len(list(core.Page{Limit: 3})), 4)
	var found []T
	page := core.Page{Limit: 2}
	for newer := int64(6); newer < 10; newer++ {
		rows, next := core.Paginate(list(page), page.Limit, at)
		found = append(found, rows...)
		if next == nil {
			break
		}
		page.After = *next
		save(newer, minute(int(newer)))
	}
	equal(t, "list", found, want)
}

// concurrently runs n transactions at the same time, which all have to succeed.
func (s Stores) concurrently(t *testing.T, n int, fn func(ctx context.Context, tx payment.Tx, i int) error) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := s.Payments.InTx(t.Context(), func(ctx context.Context, tx payment.Tx) error { return fn(ctx, tx, i) })
			if err != nil {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	all.Wait()
}
