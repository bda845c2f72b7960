// Package coretest is the business on a store in memory: what tests of the use cases
// begin with.
package coretest

import (
	"errors"
	"fmt"
	"slices"
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

// Who acts. Ann buys from Shop; the others have nothing to do with it.
var (
	Ann       = core.Actor{Subject: "ann", Roles: []core.Role{core.Customer}}
	Bob       = core.Actor{Subject: "bob", Roles: []core.Role{core.Customer}}
	Shop      = core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}
	OtherShop = core.Actor{Subject: "other-shop", Roles: []core.Role{core.Seller}}
	Root      = core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}
	Billing   = core.Actor{Subject: "billing", Roles: []core.Role{core.System}}
)

// ReservationTTL is how long the world holds stock for an order.
const ReservationTTL = 15 * time.Minute

// World is all use cases on an empty store, with a clock that a test moves. Every
// transaction runs twice, as one that loses a race does.
type World struct {
	testing.TB
	Store     *memory.Store
	Orders    *order.Service
	Payments  *payment.Service
	Customers *customer.Service
	Audit     *audit.Service

	elapsed atomic.Int64
	keys    atomic.Int64
}

// New makes a world.
func New(t testing.TB) *World {
	t.Helper()
	w := &World{TB: t}
	w.Store = memory.New(w.Now)
	w.Store.Twice = true
	w.Orders = &order.Service{Store: w.Store.Orders(), ReservationTTL: ReservationTTL}
	w.Payments = &payment.Service{Store: w.Store.Payments()}
	w.Customers = &customer.Service{Store: w.Store.Customers()}
	w.Audit = &audit.Service{Log: w.Store}
	return w
}

// Now is the time by the clock of the store.
func (w *World) Now() time.Time {
	begin := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	return begin.Add(time.Duration(w.elapsed.Load()))
}

// Pass lets time go by.
func (w *World) Pass(d time.Duration) { w.elapsed.Add(int64(d)) }

// Key gives an Idempotency-Key that has not been used.
func (w *World) Key() string { return fmt.Sprintf("key-%d", w.keys.Add(1)) }

// Product puts goods of a seller on the shelf.
func (w *World) Product(seller core.Actor, sku, price string, onHand int64) *order.Product {
	w.Helper()
	cmd := order.PutProduct{SKU: sku, Name: "Good " + sku, Price: Money(price, "RUB"), OnHand: onHand}
	p, _, err := w.Orders.PutProduct(w.Context(), seller, cmd)
	return must(w, p, err)
}

// Credit gives a customer roubles.
func (w *World) Credit(customerID, amount string) {
	w.Helper()
	cmd := payment.ChangeBalance{CustomerID: customerID, Amount: Money(amount, "RUB"), Key: w.Key()}
	m, _, err := w.Payments.CreditBalance(w.Context(), Billing, cmd)
	must(w, m, err)
}

// Placed is an order of Ann's for two teas at 40.00 from Shop, which has 10; Ann has
// 100.00.
func (w *World) Placed() *order.Order {
	w.Helper()
	w.Product(Shop, "tea", "40.00", 10)
	w.Credit(Ann.Subject, "100.00")
	o, _, err := w.Orders.CreateOrder(w.Context(), Ann, order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}, Key: w.Key()})
	return w.Order(must(w, o, err).ID)
}

// Paid is the same order, paid.
func (w *World) Paid() *order.Order {
	w.Helper()
	o := w.Placed()
	w.Confirm(o.ID)
	return w.Order(o.ID)
}

// Shipped is the same order, on its way.
func (w *World) Shipped() *order.Order {
	w.Helper()
	o := w.Paid()
	w.Advance(o.ID, order.Fulfilling)
	w.Advance(o.ID, order.Shipped)
	return w.Order(o.ID)
}

// Confirm pays an order of Ann's.
func (w *World) Confirm(orderID int64) *payment.Payment {
	w.Helper()
	p, _, err := w.Payments.ConfirmPayment(w.Context(), Ann, payment.ConfirmPayment{OrderID: orderID, Method: payment.FromBalance, Key: w.Key()})
	return must(w, p, err)
}

// Advance moves an order of Shop's along.
func (w *World) Advance(orderID int64, status order.Status) {
	w.Helper()
	o, err := w.Orders.UpdateOrderStatus(w.Context(), Shop, order.UpdateOrderStatus{OrderID: orderID, Status: status})
	must(w, o, err)
}

// Order reads an order as Ann does.
func (w *World) Order(id int64) *order.Order {
	w.Helper()
	o, err := w.Orders.GetOrderByID(w.Context(), Ann, id)
	return must(w, o, err)
}

// Stock reads a product.
func (w *World) Stock(sku string) *order.Product {
	w.Helper()
	p, err := w.Orders.GetProduct(w.Context(), sku)
	return must(w, p, err)
}

// Balance reads the roubles of a customer, "" for no balance.
func (w *World) Balance(customerID string) string {
	w.Helper()
	found, err := w.Payments.GetBalance(w.Context(), Billing, customerID)
	for _, b := range must(w, found, err) {
		if b.Amount.Currency() == "RUB" {
			return b.Amount.Decimal()
		}
	}
	return ""
}

// Traces is what use cases leave behind besides their own rows.
type Traces struct {
	Events  []string
	Audited []string
}

// Traces tells which events and audit entries fn leaves, in their order: "order.paid",
// "root CancelOrder order/3".
func (w *World) Traces(fn func()) Traces {
	w.Helper()
	events, audited := len(w.Store.Events()), len(w.entries())
	fn()
	var left Traces
	for _, e := range w.Store.Events()[events:] {
		left.Events = append(left.Events, string(e.Type))
	}
	for _, e := range w.entries()[audited:] {
		left.Audited = append(left.Audited, e.Actor+" "+e.Action+" "+e.Resource)
	}
	return left
}

// entries gives the audit log, the oldest first.
func (w *World) entries() []core.AuditEntry {
	w.Helper()
	newestFirst, _, err := w.Audit.ListAuditLog(w.Context(), core.Page{Limit: 10_000})
	must(w, newestFirst, err)
	slices.Reverse(newestFirst)
	return newestFirst
}

// Money makes money of constants.
func Money(amount string, currency core.Currency) core.Money {
	m, err := core.ParseMoney(amount, string(currency))
	if err != nil {
		panic(err)
	}
	return m
}

// CodeOf gives the code of a refusal, or "" for none.
func CodeOf(err error) core.Code {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return fault.Code
	}
	return ""
}

// PointerOf gives what a refusal points at, or "" for nothing.
func PointerOf(err error) string {
	if fault, ok := errors.AsType[*core.Fault](err); ok && len(fault.Fields) == 1 {
		return fault.Fields[0].Pointer
	}
	return ""
}

func must[T any](w *World, v T, err error) T {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	return v
}
