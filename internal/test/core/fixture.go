// Package coretest runs the use cases on a store in memory. Its fixture is where tests
// of the use cases begin.
package coretest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/test/memory"
)

// The actors. Ann buys from Shop; the others have no part in her orders.
var (
	Ann       = core.Actor{Subject: "ann", Roles: []core.Role{core.Customer}}
	Bob       = core.Actor{Subject: "bob", Roles: []core.Role{core.Customer}}
	Shop      = core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}
	OtherShop = core.Actor{Subject: "other-shop", Roles: []core.Role{core.Seller}}
	Root      = core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}
	Billing   = core.Actor{Subject: "billing", Roles: []core.Role{core.System}}
)

// ReservationTTL is how long the fixture reserves stock for an order.
const ReservationTTL = 15 * time.Minute

// Fixture holds all use cases on an empty store, with a clock that the test sets. Every
// transaction runs twice, like one that lost a race.
type Fixture struct {
	Store     *memory.Store
	Orders    *order.Service
	Payments  *payment.Service
	Customers *customer.Service
	Audit     *audit.Service

	elapsed atomic.Int64
	keys    atomic.Int64
}

// New returns a fixture with an empty store.
func New(t testing.TB) *Fixture {
	t.Helper()
	f := &Fixture{}
	f.Store = memory.New(f.Now)
	f.Store.Twice = true
	f.Orders = &order.Service{Store: f.Store.Orders(), ReservationTTL: ReservationTTL}
	f.Payments = &payment.Service{Store: f.Store.Payments()}
	f.Customers = &customer.Service{Store: f.Store.Customers()}
	f.Audit = &audit.Service{Store: f.Store.Audit()}
	return f
}

// Now returns the time by the clock of the store.
func (f *Fixture) Now() time.Time {
	begin := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	return begin.Add(time.Duration(f.elapsed.Load()))
}

// AdvanceClock moves the clock forward.
func (f *Fixture) AdvanceClock(d time.Duration) { f.elapsed.Add(int64(d)) }

// Key returns an Idempotency-Key that has not been used.
func (f *Fixture) Key() string { return fmt.Sprintf("key-%d", f.keys.Add(1)) }

// Product creates a product of a seller, or replaces it as it is now.
func (f *Fixture) Product(t testing.TB, seller core.Actor, sku, price string, onHand int64) *order.Product {
	t.Helper()
	cmd := order.PutProduct{SKU: sku, Name: "Good " + sku, Price: Money(price, "RUB"), OnHand: &onHand}
	if known, err := f.Orders.GetProduct(t.Context(), sku); err == nil {
		cmd.Versions = []int64{known.Version}
	}
	p, _, err := f.Orders.PutProduct(t.Context(), seller, cmd)
	return must(t, p, err)
}

// Credit adds roubles to a customer's balance.
func (f *Fixture) Credit(t testing.TB, customerID, amount string) {
	t.Helper()
	cmd := payment.ChangeBalance{CustomerID: customerID, Amount: Money(amount, "RUB"), Key: f.Key()}
	m, _, err := f.Payments.CreditBalance(t.Context(), Billing, cmd)
	must(t, m, err)
}

// Placed creates an order of Ann for two units of the product tea at 40.00 each. Shop has
// 10 units on hand, and Ann has a balance of 100.00.
func (f *Fixture) Placed(t testing.TB) *order.Order {
	t.Helper()
	f.Product(t, Shop, "tea", "40.00", 10)
	f.Credit(t, Ann.Subject, "100.00")
	o, _, err := f.Orders.CreateOrder(t.Context(), Ann, order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}, Key: f.Key()})
	return f.Order(t, must(t, o, err).ID)
}

// Paid creates the same order and pays it from Ann's balance.
func (f *Fixture) Paid(t testing.TB) *order.Order {
	t.Helper()
	o := f.Placed(t)
	f.Confirm(t, o.ID)
	return f.Order(t, o.ID)
}

// Shipped creates the same order, pays and ships it.
func (f *Fixture) Shipped(t testing.TB) *order.Order {
	t.Helper()
	o := f.Paid(t)
	f.UpdateStatus(t, o.ID, order.Fulfilling)
	f.UpdateStatus(t, o.ID, order.Shipped)
	return f.Order(t, o.ID)
}

// Confirm pays an order of Ann from her balance.
func (f *Fixture) Confirm(t testing.TB, orderID int64) *payment.Payment {
	t.Helper()
	p, _, err := f.Payments.ConfirmPayment(t.Context(), Ann, payment.ConfirmPayment{OrderID: orderID, Method: payment.FromBalance, Key: f.Key()})
	return must(t, p, err)
}

// UpdateStatus changes the status of an order of Shop.
func (f *Fixture) UpdateStatus(t testing.TB, orderID int64, status order.Status) {
	t.Helper()
	o, err := f.Orders.UpdateOrderStatus(t.Context(), Shop, order.UpdateOrderStatus{OrderID: orderID, Status: status})
	must(t, o, err)
}

// Order returns an order as Ann sees it.
func (f *Fixture) Order(t testing.TB, id int64) *order.Order {
	t.Helper()
	o, err := f.Orders.GetOrderByID(t.Context(), Ann, id)
	return must(t, o, err)
}

// Stock returns a product with its quantities.
func (f *Fixture) Stock(t testing.TB, sku string) *order.Product {
	t.Helper()
	p, err := f.Orders.GetProduct(t.Context(), sku)
	return must(t, p, err)
}

// Balance returns the rouble balance of a customer, "" for none.
func (f *Fixture) Balance(t testing.TB, customerID string) string {
	t.Helper()
	found, err := f.Payments.GetBalance(t.Context(), Billing, customerID)
	for _, b := range must(t, found, err) {
		if b.Amount.Currency() == "RUB" {
			return b.Amount.Decimal()
		}
	}
	return ""
}

// Effects are what use cases write besides their own rows.
type Effects struct {
	Events  []string
	Audited []string
}

// Effects returns the events and audit entries that fn causes, in their order:
// "order.paid", "root CancelOrder order/3".
func (f *Fixture) Effects(t testing.TB, fn func()) Effects {
	t.Helper()
	events, audited := len(f.Store.Events()), len(f.Store.AuditEntries())
	fn()
	var caused Effects
	for _, e := range f.Store.Events()[events:] {
		caused.Events = append(caused.Events, string(e.Type))
	}
	for _, e := range f.Store.AuditEntries()[audited:] {
		caused.Audited = append(caused.Audited, e.Actor+" "+e.Action+" "+e.Resource)
	}
	return caused
}

// Money parses a constant amount.
func Money(amount string, currency core.Currency) core.Money {
	m, err := core.ParseMoney(amount, string(currency))
	if err != nil {
		panic(err)
	}
	return m
}

// CodeOf returns the code of a refusal, or "" for any other error.
func CodeOf(err error) core.Code {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return fault.Code
	}
	return ""
}

// PointerOf returns the JSON pointer of a refusal of one field, or "".
func PointerOf(err error) string {
	if fault, ok := errors.AsType[*core.Fault](err); ok && len(fault.Fields) == 1 {
		return fault.Fields[0].Pointer
	}
	return ""
}

func must[T any](t testing.TB, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
