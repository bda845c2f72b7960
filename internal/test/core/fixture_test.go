// Package coretest runs the use cases on an in-memory store.
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
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/test/memory"
)

// The actors. Ann buys from the shop; the others have no part in her orders.
var (
	ann       = core.Actor{Subject: "ann", Roles: []core.Role{core.Customer}}
	bob       = core.Actor{Subject: "bob", Roles: []core.Role{core.Customer}}
	shop      = core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}
	otherShop = core.Actor{Subject: "other-shop", Roles: []core.Role{core.Seller}}
	root      = core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}
	billing   = core.Actor{Subject: "billing", Roles: []core.Role{core.System}}
)

// reservationTTL is how long the fixture reserves stock for an order.
const reservationTTL = 15 * time.Minute

// fixture holds all use cases on an empty store, with a clock that the test sets. Every
// transaction runs twice, like one that lost a race.
type fixture struct {
	Store     *memory.Store
	Orders    *order.Service
	Payments  *payment.Service
	Customers *customer.Service
	Audit     *audit.Service
	Webhooks  *webhook.Service

	elapsed atomic.Int64
	keys    atomic.Int64
}

func newFixture() *fixture {
	f := &fixture{}
	f.Store = memory.New(f.now)
	f.Store.Twice = true
	f.Orders = &order.Service{Store: f.Store.Orders(), ReservationTTL: reservationTTL}
	f.Payments = &payment.Service{Store: f.Store.Payments()}
	f.Customers = &customer.Service{Store: f.Store.Customers()}
	f.Audit = &audit.Service{Store: f.Store.Audit()}
	f.Webhooks = &webhook.Service{Store: f.Store.Webhooks(), EventTypes: order.EventTypes, CheckURL: checkURL}
	return f
}

// now returns the time by the clock of the store.
func (f *fixture) now() time.Time {
	begin := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	return begin.Add(time.Duration(f.elapsed.Load()))
}

func (f *fixture) advanceClock(d time.Duration) { f.elapsed.Add(int64(d)) }

// key returns an Idempotency-Key that has not been used.
func (f *fixture) key() string { return fmt.Sprintf("key-%d", f.keys.Add(1)) }

// product creates or replaces a seller's product.
func (f *fixture) product(t testing.TB, seller core.Actor, sku, price string, onHand int64) {
	t.Helper()
	cmd := order.PutProduct{SKU: sku, Name: "Good " + sku, Price: money(price, "RUB"), OnHand: &onHand}
	if known, err := f.Orders.GetProduct(t.Context(), sku); err == nil {
		cmd.Versions = []int64{known.Version}
	}
	if _, _, err := f.Orders.PutProduct(t.Context(), seller, cmd); err != nil {
		t.Fatal(err)
	}
}

// credit adds roubles to a customer's balance.
func (f *fixture) credit(t testing.TB, customerID, amount string) {
	t.Helper()
	cmd := payment.ChangeBalance{CustomerID: customerID, Amount: money(amount, "RUB"), Key: f.key()}
	if _, _, err := f.Payments.CreditBalance(t.Context(), billing, cmd); err != nil {
		t.Fatal(err)
	}
}

// placed creates Ann's order for two units of the product tea at 40.00 each. The shop has
// 10 units on hand, and Ann has a balance of 100.00.
func placed(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	f.product(t, shop, "tea", "40.00", 10)
	f.credit(t, "ann", "100.00")
	return f.create(t, ann, order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}})
}

// create creates an order under a new key.
func (f *fixture) create(t testing.TB, actor core.Actor, cmd order.CreateOrder) *order.Order {
	t.Helper()
	cmd.Key = f.key()
	o, _, err := f.Orders.CreateOrder(t.Context(), actor, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// placedWithCards creates the same order where cards are accepted. No use case calls the
// provider: it records what to ask it for.
func placedWithCards(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	f.Payments.Gateway = &gateway{}
	return placed(t, f)
}

// paidByTheRichest creates the same order, paid by a customer whose balance then has its
// maximum.
func paidByTheRichest(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	o := paid(t, f)
	mustRun(t, f, credit("999999999999979.99"), billing, nil)
	return o
}

// paidByCard creates the same order and captures its payment by card.
func paidByCard(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	o := placedWithCards(t, f)
	cmd := payment.ConfirmPayment{OrderID: o.ID, Method: payment.ByCard, CardToken: "pm_card_visa", Key: f.key()}
	p, _, err := f.Payments.ConfirmPayment(t.Context(), ann, cmd)
	if err == nil {
		err = f.Payments.SettlePayment(t.Context(), p.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// expired creates the same order and lets its reservation expire. Its stock has not been
// released yet.
func expired(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	o := placed(t, f)
	f.advanceClock(reservationTTL)
	return o
}

// released creates the same order, lets its reservation expire and releases its stock.
func released(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	o := expired(t, f)
	f.release(t, 1)
	return o
}

// release releases the stock of expired reservations, which must be so many.
func (f *fixture) release(t testing.TB, want int) {
	t.Helper()
	if _, n, err := f.Orders.ReleaseExpiredReservations(t.Context(), order.Expiry{}, 10); n != want || err != nil {
		t.Errorf("released %d reservations, %v; want %d", n, err, want)
	}
}

// paid creates the same order and pays it from Ann's balance.
func paid(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	o := placed(t, f)
	mustRun(t, f, confirm(payment.FromBalance), ann, o)
	return f.order(t, o.ID)
}

// shipped creates the same order, pays and ships it.
func shipped(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	o := paid(t, f)
	mustRun(t, f, updateStatus(order.Fulfilling), shop, o)
	mustRun(t, f, updateStatus(order.Shipped), shop, o)
	return o
}

// refunded creates the same order, pays it and refunds a part of it.
func refunded(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	o := paid(t, f)
	mustRun(t, f, refund("30.00", "broken"), ann, o)
	return o
}

// withProfile creates a profile of Ann, and no order.
func withProfile(t testing.TB, f *fixture) *order.Order {
	t.Helper()
	mustRun(t, f, updateProfile, ann, nil)
	return nil
}

// nothing creates no order. Commands name one that does not exist.
func nothing(testing.TB, *fixture) *order.Order { return &order.Order{ID: 404} }

// order returns an order as Ann sees it.
func (f *fixture) order(t testing.TB, id int64) *order.Order {
	t.Helper()
	o, err := f.Orders.GetOrderByID(t.Context(), ann, id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// stock returns a product with its quantities.
func (f *fixture) stock(t testing.TB, sku string) *order.Product {
	t.Helper()
	p, err := f.Orders.GetProduct(t.Context(), sku)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantState compares the stock of the product tea and Ann's balance.
func (f *fixture) wantState(t testing.TB, onHand, reserved int64, balance string) {
	t.Helper()
	if p := f.stock(t, "tea"); p.OnHand != onHand || p.Reserved != reserved {
		t.Errorf("%d on hand, %d reserved; want %d and %d", p.OnHand, p.Reserved, onHand, reserved)
	}
	if got := f.balance(t); got != balance {
		t.Errorf("ann has %s; want %s", got, balance)
	}
}

// balance returns Ann's roubles.
func (f *fixture) balance(t testing.TB) string {
	t.Helper()
	found, err := f.Payments.GetBalance(t.Context(), billing, "ann")
	if err != nil || len(found) != 1 {
		t.Fatalf("balances of ann: %v, %v", found, err)
	}
	return found[0].Amount.Decimal()
}

// effects are the events and audit entries that use cases write.
type effects struct {
	Events  []string
	Audited []string
}

// effects returns the events and audit entries that fn causes, in their order:
// "order.paid", "root CancelOrder order/3".
func (f *fixture) effects(fn func()) effects {
	events, audited := len(f.Store.Events()), len(f.Store.AuditEntries())
	fn()
	var caused effects
	for _, e := range f.Store.Events()[events:] {
		caused.Events = append(caused.Events, string(e.Type))
	}
	for _, e := range f.Store.AuditEntries()[audited:] {
		caused.Audited = append(caused.Audited, e.Actor+" "+e.Action+" "+e.Resource)
	}
	return caused
}

// money parses a constant amount.
func money(amount string, currency core.Currency) core.Money {
	m, err := core.ParseMoney(amount, string(currency))
	if err != nil {
		panic(err)
	}
	return m
}

// codeOf returns a refusal's code, "" for success and "failure" for any other error.
func codeOf(err error) core.Code {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return fault.Code
	}
	if err != nil {
		return "failure"
	}
	return ""
}

// pointerOf returns the JSON pointer in a refusal that names one field, or "".
func pointerOf(err error) string {
	if fault, ok := errors.AsType[*core.Fault](err); ok && len(fault.Fields) == 1 {
		return fault.Fields[0].Pointer
	}
	return ""
}

// wantCode checks the code of a refusal, "" for success.
func wantCode(t *testing.T, what string, err error, want core.Code) {
	t.Helper()
	if codeOf(err) != want {
		t.Errorf("%s: %v; want %q", what, err, want)
	}
}
