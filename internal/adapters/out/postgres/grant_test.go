package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var (
	ann   = core.Actor{Subject: "ann", Roles: []core.Role{core.Customer}}
	bob   = core.Actor{Subject: "bob", Roles: []core.Role{core.Customer}}
	shop  = core.Actor{Subject: "shop", Roles: []core.Role{core.Seller}}
	other = core.Actor{Subject: "other-shop", Roles: []core.Role{core.Seller}}
	bank  = core.Actor{Subject: "bank", Roles: []core.Role{core.System}}
)

// useCases are the services on one database.
type useCases struct {
	orders   *order.Service
	payments *payment.Service
}

func useCasesOn(db *postgres.DB) useCases {
	return useCases{
		orders:   &order.Service{Store: db.Orders(), ReservationTTL: time.Hour, MaxExtensions: 8, MaxUnpaidOrders: 50},
		payments: &payment.Service{Store: db.Payments()},
	}
}

// commands are what a stranger may not do with an order of ann's from shop, or with
// shop's product.
var commands = map[string]struct {
	stranger core.Actor
	run      func(ctx context.Context, u useCases, actor core.Actor, orderID int64) error
}{
	"ReserveInventory": {bob, func(ctx context.Context, u useCases, actor core.Actor, orderID int64) error {
		return third(u.orders.ReserveInventory(ctx, actor, order.ReserveInventory{OrderID: orderID, Key: "key-2"}))
	}},
	"ConfirmPayment": {bob, func(ctx context.Context, u useCases, actor core.Actor, orderID int64) error {
		return third(u.payments.ConfirmPayment(ctx, actor, payment.ConfirmPayment{OrderID: orderID, Method: payment.FromBalance, Key: "key-2"}))
	}},
	"RefundPayment": {bob, func(ctx context.Context, u useCases, actor core.Actor, orderID int64) error {
		return third(u.payments.RefundPayment(ctx, actor, payment.RefundPayment{OrderID: orderID, Full: true, Key: "key-2"}))
	}},
	"CancelOrder": {bob, func(ctx context.Context, u useCases, actor core.Actor, orderID int64) error {
		return third(u.payments.CancelOrder(ctx, actor, payment.CancelOrder{OrderID: orderID, Key: "key-2"}))
	}},
	"UpdateOrderStatus": {other, func(ctx context.Context, u useCases, actor core.Actor, orderID int64) error {
		_, err := u.orders.UpdateOrderStatus(ctx, actor, order.UpdateOrderStatus{OrderID: orderID, Status: order.Fulfilling})
		return err
	}},
	"PutProduct": {other, func(ctx context.Context, u useCases, actor core.Actor, _ int64) error {
		return third(u.orders.PutProduct(ctx, actor, order.PutProduct{SKU: "tea", Name: "Tea", Price: roubles("1.00")}))
	}},
	"AdjustStock": {other, func(ctx context.Context, u useCases, actor core.Actor, _ int64) error {
		return third(u.orders.AdjustStock(ctx, actor, order.AdjustStock{SKU: "tea", Change: 1, Key: "key-2"}))
	}},
	"CreateOrder": {other, func(ctx context.Context, u useCases, actor core.Actor, _ int64) error {
		cmd := order.CreateOrder{CustomerID: "bob", Items: []order.Item{{SKU: "tea", Quantity: 1}}, Key: "key-2"}
		return third(u.orders.CreateOrder(ctx, actor, cmd))
	}},
}

func third(_ any, _ bool, err error) error { return err }

func roubles(amount string) core.Money {
	m, err := core.ParseMoney(amount, "RUB")
	if err != nil {
		panic(err)
	}
	return m
}

// placeOrder creates shop's product tea, a balance of ann, and her order of two.
func placeOrder(t *testing.T, u useCases) int64 {
	t.Helper()
	_, _, err := u.orders.PutProduct(t.Context(), shop, order.PutProduct{SKU: "tea", Name: "Tea", Price: roubles("1.00"), OnHand: new(int64(10))})
	if err != nil {
		t.Fatal(err)
	}
	credit := payment.ChangeBalance{CustomerID: ann.Subject, Amount: roubles("10.00"), Key: "key-1"}
	if _, _, err := u.payments.CreditBalance(t.Context(), bank, credit); err != nil {
		t.Fatal(err)
	}
	cmd := order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}, Key: "key-1"}
	o, _, err := u.orders.CreateOrder(t.Context(), ann, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

// The connection of the stranger gives up after a moment when it has to wait for a lock:
// then the command fails with core.ErrUnavailable and not with a refusal.
func TestStranger_IsRefusedWithoutWaitingForLocks(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	orderID := placeOrder(t, useCasesOn(d.DB))
	impatient := useCasesOn(open(t, d.url+"&lock_timeout=100ms"))
	holder := lockEverything(t, d)

	for name, c := range commands {
		err := c.run(t.Context(), impatient, c.stranger, orderID)
		if fault, ok := errors.AsType[*core.Fault](err); !ok || fault.Code != core.CodeForbiddenResource {
			t.Errorf("%s by a stranger: %v; want %s", name, err, core.CodeForbiddenResource)
		}
	}

	// The owner has to wait, so the locks are those that the commands take.
	_, _, err := impatient.payments.CancelOrder(t.Context(), ann, payment.CancelOrder{OrderID: orderID, Key: "key-3"})
	if !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("CancelOrder by the owner: %v; want a lock timeout", err)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// lockEverything locks all orders, products and balances in a transaction that stays
// open.
func lockEverything(t *testing.T, d *database) pgx.Tx {
	t.Helper()
	holder, err := d.plain.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Rollback(context.WithoutCancel(t.Context())) })
	for _, query := range []string{
		"SELECT FROM orders FOR UPDATE", "SELECT FROM product FOR UPDATE", "SELECT FROM balance FOR UPDATE",
	} {
		if _, err := holder.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	return holder
}
