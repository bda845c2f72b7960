package postgres_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/test/pg/roundtrips"
)

// maxRoundTrips is what a command takes without the guard: one round trip to begin, one
// to load, and one to write and commit.
const maxRoundTrips = 3

// counted is a store with one connection through a proxy that counts round trips.
func (d *database) counted(t *testing.T) (*postgres.DB, *roundtrips.Proxy) {
	t.Helper()
	proxy, address := d.counting(t)
	return open(t, address), proxy
}

// counting starts a proxy that counts round trips, and returns the URL of the database
// behind it, for one connection. The store is closed before the proxy, which waits for its
// connections.
func (d *database) counting(t *testing.T) (*roundtrips.Proxy, string) {
	t.Helper()
	proxy, err := roundtrips.Start(d.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(proxy.URL())
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("pool_max_conns", "1")
	u.RawQuery = query.Encode()
	return proxy, u.String()
}

// The life of an order: each command by whoever may run it.
func TestCommands_CheckTheGrantInTheRoundTripThatLoads(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db, proxy := d.counted(t)
	u := useCasesOn(db)
	for _, run := range []string{"insert", "update"} { // prepares the statements
		orderLifeCycle(t, u, run, func(string) {})
	}
	proxy.Take()
	orderLifeCycle(t, u, "counted", func(command string) {
		if trips := proxy.Take(); len(trips) > maxRoundTrips {
			t.Errorf("%s took %d round trips, more than %d:", command, len(trips), maxRoundTrips)
			for _, trip := range trips {
				t.Log(strings.Join(trip, "; "))
			}
		}
	})
}

// orderLifeCycle runs every command that locks an order or a product, and calls after
// with the name of each. Run makes the keys and references of two calls differ.
func orderLifeCycle(t *testing.T, u useCases, run string, after func(command string)) {
	t.Helper()
	key := func(name string) string { return run + "-" + name }
	do := func(command string, fn func(ctx context.Context) error) {
		t.Helper()
		if err := fn(t.Context()); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		after(command)
	}
	do("PutProduct", func(ctx context.Context) error {
		cmd := order.PutProduct{SKU: "tea", Name: "Tea", Price: roubles("1.00")}
		if run == "insert" {
			cmd.OnHand = new(int64(10))
		}
		_, _, err := u.orders.PutProduct(ctx, shop, cmd)
		return err
	})
	do("AdjustStock", func(ctx context.Context) error {
		_, _, err := u.orders.AdjustStock(ctx, shop, order.AdjustStock{SKU: "tea", Change: 5, Key: key("adjust")})
		return err
	})
	do("CreditBalance", func(ctx context.Context) error {
		cmd := payment.ChangeBalance{CustomerID: ann.Subject, Amount: roubles("10.00"), Reference: run, Key: key("credit")}
		_, _, err := u.payments.CreditBalance(ctx, bank, cmd)
		return err
	})
	var id int64
	do("CreateOrder by a seller", func(ctx context.Context) error {
		cmd := order.CreateOrder{
			CustomerID: ann.Subject, Reference: run, Items: []order.Item{{SKU: "tea", Quantity: 2}}, Key: key("create"),
		}
		o, _, err := u.orders.CreateOrder(ctx, shop, cmd)
		if err == nil {
			id = o.ID
		}
		return err
	})
	do("ReserveInventory", func(ctx context.Context) error {
		_, _, err := u.orders.ReserveInventory(ctx, ann, order.ReserveInventory{OrderID: id, Key: key("reserve")})
		return err
	})
	do("ConfirmPayment", func(ctx context.Context) error {
		_, _, err := u.payments.ConfirmPayment(ctx, ann, payment.ConfirmPayment{OrderID: id, Method: payment.FromBalance, Key: key("pay")})
		return err
	})
	do("UpdateOrderStatus", func(ctx context.Context) error {
		_, err := u.orders.UpdateOrderStatus(ctx, shop, order.UpdateOrderStatus{OrderID: id, Status: order.Fulfilling})
		return err
	})
	do("RefundPayment", func(ctx context.Context) error {
		amount := roubles("0.50")
		_, _, err := u.payments.RefundPayment(ctx, ann, payment.RefundPayment{OrderID: id, Amount: &amount, Key: key("refund")})
		return err
	})
	do("CancelOrder", func(ctx context.Context) error {
		_, _, err := u.payments.CancelOrder(ctx, core.Actor{Subject: "root", Roles: []core.Role{core.Admin}}, payment.CancelOrder{OrderID: id, Key: key("cancel")})
		return err
	})
}
