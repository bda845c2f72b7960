package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/customer"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/guardtest"
)

var grantCases = []storeCase{
	{"an order is locked only for whom the grant covers", orderLockFollowsGrant},
	{"a product is locked only for whom the grant covers", productLockFollowsGrant},
	{"a missing order or product is not found, whatever the grant", absenceIsNotHidden},
	{"a basket holds the products of other sellers, too", basketHoldsOtherSellers},
}

// grants are all kinds of grant, and whether they cover an order of the customer
// sber-42 and the seller shop-7.
var grants = []struct {
	grant  core.Grant
	covers bool
}{
	{core.GrantEverybody, true},
	{core.Grant{Customer: "sber-42"}, true},
	{core.Grant{Seller: "shop-7"}, true},
	{core.Grant{Customer: "sber-43", Seller: "shop-7"}, true},
	{core.Grant{}, false},
	{core.Grant{Customer: "sber-43"}, false},
	{core.Grant{Seller: "shop-8"}, false},
	// The right name in the wrong role.
	{core.Grant{Customer: "shop-7", Seller: "sber-42"}, false},
}

// orderLocks are the ports that lock an order. They return the order and its stock.
var orderLocks = map[string]func(ctx context.Context, tx payment.Tx, id int64, g core.Grant) (*order.Order, order.Stock, error){
	"Orders": func(ctx context.Context, tx payment.Tx, id int64, g core.Grant) (*order.Order, order.Stock, error) {
		o, err := tx.Orders.Lock(ctx, id, g)
		return o, nil, err
	},
	"Reservations": func(ctx context.Context, tx payment.Tx, id int64, g core.Grant) (*order.Order, order.Stock, error) {
		r, err := tx.Reservations.Lock(ctx, order.ReservationQuery{OrderID: id, Grant: g})
		return r.Order, r.Stock, err
	},
	"OrderPayments": func(ctx context.Context, tx payment.Tx, id int64, g core.Grant) (*order.Order, order.Stock, error) {
		op, err := tx.OrderPayments.Lock(ctx, id, g)
		if err != nil {
			return nil, nil, err
		}
		return op.Order, op.Stock, nil
	},
}

func orderLockFollowsGrant(t *testing.T, s Stores) {
	o := newOrder(1, "key-1")
	s.save(t, newProduct(1, "tea"), newProduct(2, "cup"), o)
	for port, lock := range orderLocks {
		for _, c := range grants {
			s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
				got, stock, err := lock(ctx, tx, 1, c.grant)
				wantLocked(t, fmt.Sprintf("%s.Lock for %+v", port, c.grant), got, err, o, c.covers)
				if has := len(stock) == 2; has != (c.covers && port != "Orders") {
					t.Errorf("%s.Lock for %+v: stock %v", port, c.grant, stock)
				}
				return nil
			})
		}
	}
}

// wantLocked checks that only a grant that covers a row gets it.
func wantLocked[T any](t *testing.T, what string, got *T, err error, row *T, covers bool) {
	t.Helper()
	var wantErr error
	if !covers {
		row, wantErr = nil, core.ErrNotGranted
	}
	equal(t, what, got, row)
	if !errors.Is(err, wantErr) {
		t.Errorf("%s: %v; want %v", what, err, wantErr)
	}
}

// productLocks are the ports that lock a product.
var productLocks = map[string]func(ctx context.Context, tx payment.Tx, sku string, g core.Grant) (*order.Product, error){
	"Products": func(ctx context.Context, tx payment.Tx, sku string, g core.Grant) (*order.Product, error) {
		return tx.Products.Lock(ctx, sku, g)
	},
	"StockAdjustments": func(ctx context.Context, tx payment.Tx, sku string, g core.Grant) (*order.Product, error) {
		locked, err := tx.StockAdjustments.Lock(ctx, order.StockQuery{SKU: sku, Grant: g})
		return locked.Product, err
	},
}

func productLockFollowsGrant(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	s.save(t, tea)
	for port, lock := range productLocks {
		for grant, covers := range map[core.Grant]bool{
			core.GrantEverybody: true, {Seller: "shop-7"}: true,
			{}: false, {Seller: "shop-8"}: false, {Customer: "shop-7"}: false,
		} {
			s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
				p, err := lock(ctx, tx, "tea", grant)
				wantLocked(t, fmt.Sprintf("%s.Lock for %+v", port, grant), p, err, tea, covers)
				return nil
			})
		}
	}
}

func absenceIsNotHidden(t *testing.T, s Stores) {
	s.save(t, newProduct(1, "tea"), newOrder(1, "key-1"))
	for _, c := range grants {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
			_, noOrder := tx.Orders.Get(ctx, 2)
			_, noProduct := tx.Products.Get(ctx, "cup")
			errs := map[string]error{"Orders.Get": noOrder, "Products.Get": noProduct}
			for port, lock := range orderLocks {
				_, _, errs[port] = lock(ctx, tx, 2, c.grant)
			}
			for port, lock := range productLocks {
				_, errs[port] = lock(ctx, tx, "cup", c.grant)
			}
			for port, err := range errs {
				if !errors.Is(err, core.ErrNotFound) {
					t.Errorf("%s for %+v: %v", port, c.grant, err)
				}
			}
			return nil
		})
	}
}

func basketHoldsOtherSellers(t *testing.T, s Stores) {
	own, other := newProduct(1, "tea"), newProduct(2, "cup")
	other.SellerID = "shop-8"
	s.save(t, own, other)
	for _, grant := range []core.Grant{core.GrantEverybody, {Seller: "shop-7"}, {Seller: "shop-9"}, {}} {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
			basket, err := tx.Orders.Basket(ctx, order.BasketQuery{
				CustomerID: "sber-42", By: operation("shop-7", "key-1"), SKUs: []string{"cup", "tea", "fork"}, Grant: grant,
			})
			equal(t, "stock", basket.Stock, order.Stock{"tea": own, "cup": other})
			return err
		})
	}
}

var customerCases = []storeCase{
	{"a profile comes back as it was saved last", profileRoundTrip},
	{"there is one profile of a customer", oneProfileOfACustomer},
	{"a deleted profile is not found, and can be made anew", profileDeletion},
}

func (s Stores) inCustomerTx(t *testing.T, fn func(ctx context.Context, tx customer.Tx) error) {
	t.Helper()
	if err := s.Customers.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func (s Stores) saveProfile(t *testing.T, p customer.Profile) {
	t.Helper()
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Save(ctx, &p) })
}

// wantProfile reads a profile in both ways; want is nil if it is missing.
func (s Stores) wantProfile(t *testing.T, customerID string, want *customer.Profile) {
	t.Helper()
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error {
		got, err := tx.Profiles.Get(ctx, customerID)
		locked, lockErr := tx.Profiles.Lock(ctx, customerID)
		equal(t, "profiles, read and locked", []*customer.Profile{got, locked}, []*customer.Profile{want, want})
		for _, err := range []error{err, lockErr} {
			if absent := errors.Is(err, core.ErrNotFound); absent != (want == nil) || err != nil && !absent {
				t.Errorf("the profile of %s: %v", customerID, err)
			}
		}
		return nil
	})
}

func profileRoundTrip(t *testing.T, s Stores) {
	want := customer.Profile{CustomerID: "sber-42", FullName: "Анна", Email: "a@example.com", CreatedAt: minute(0), UpdatedAt: minute(1)}
	for _, p := range []customer.Profile{
		{CustomerID: "sber-42", Phone: "1", CreatedAt: minute(0), UpdatedAt: minute(0), New: true},
		{CustomerID: "sber-4", New: true},
		want,
	} {
		s.saveProfile(t, p)
	}
	s.wantProfile(t, "sber-42", &want)
}

func oneProfileOfACustomer(t *testing.T, s Stores) {
	first := customer.Profile{CustomerID: "sber-42", FullName: "Anna", UpdatedAt: minute(0), New: true}
	s.saveProfile(t, first)
	err := s.Customers.InTx(t.Context(), func(ctx context.Context, tx customer.Tx) error {
		return tx.Profiles.Save(ctx, &customer.Profile{CustomerID: "sber-42", FullName: "Eve", New: true})
	})
	if err == nil {
		t.Error("a second profile of one customer was stored")
	}
	first.New = false
	s.wantProfile(t, "sber-42", &first)
}

func profileDeletion(t *testing.T, s Stores) {
	deleted := customer.Profile{CustomerID: "sber-42", FullName: "Anna", UpdatedAt: minute(0), New: true}
	other := customer.Profile{CustomerID: "sber-4", FullName: "Bob", UpdatedAt: minute(0), New: true}
	s.saveProfile(t, deleted)
	s.saveProfile(t, other)
	s.inCustomerTx(t, func(ctx context.Context, tx customer.Tx) error { return tx.Profiles.Delete(ctx, "sber-42") })
	s.wantProfile(t, "sber-42", nil)
	other.New = false
	s.wantProfile(t, "sber-4", &other)
	s.saveProfile(t, deleted)
}

// The suite of AUTH-19 is guardtest. These cases are about the transaction that the
// store of the guard shares with the stores of the core.
var keyCases = []storeCase{
	{"a command joins the transaction of its key", commandJoins},
	{"a refusal drops everything that the command wrote", refusalDropsAllWrites},
	{"clean-up deletes expired records, and no more than asked", cleanUp},
}

// guardFixture returns the fixture of guardtest. Its effects are events.
func guardFixture(s Stores) guardtest.Fixture {
	return guardtest.Fixture{
		Store: s.Keys, Replica: s.Replica,
		Write: func(ctx context.Context) error {
			return s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
				// A command that loads no row shares no transaction.
				if _, err := tx.Balances.Lock(ctx, payment.BalanceQuery{CustomerID: "ann", Currency: "RUB"}); err != nil {
					return err
				}
				return tx.Outbox.Add(ctx, newEvent(order.EventPaid))
			})
		},
		Read: func(ctx context.Context) error {
			return s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
				_, err := tx.Orders.Get(ctx, 1)
				if errors.Is(err, core.ErrNotFound) {
					return nil
				}
				return err
			})
		},
		Effects: func(t *testing.T) int {
			t.Helper()
			return len(s.Events(t))
		},
	}
}

// claim returns the claim of a createOrder request with the given key.
func claim(key string) guard.Claim {
	id := guard.ID{Scope: "https://issuer.example sber-42", Key: key}
	return guard.Claim{ID: id, Operation: "createOrder", Fingerprint: "\x01fingerprint"}
}

var (
	created = guard.Result{Response: guard.Response{Status: 201, Body: []byte(`{}`)}, TTL: time.Hour}
	refused = guard.Result{Response: guard.Response{Status: 409, Body: []byte(`{}`)}, TTL: time.Minute, Refused: true}
)

// mustExecute runs a command under a key and returns the record.
func (s Stores) mustExecute(t *testing.T, key string, run guard.Command) guard.Record {
	t.Helper()
	rec, _, err := s.Keys.Execute(t.Context(), claim(key), run)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func commandJoins(t *testing.T, s Stores) {
	var now time.Time
	rec := s.mustExecute(t, "key-1", func(ctx context.Context) (guard.Result, error) {
		return created, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			now = tx.Now
			return writeEverything(ctx, tx)
		})
	})
	equal(t, "created at", rec.CreatedAt, now)
	want := newOrder(1, "key-1")
	markStored(want)
	equal(t, "order", s.order(t, 1), want)
}

func refusalDropsAllWrites(t *testing.T, s Stores) {
	s.mustExecute(t, "key-1", func(ctx context.Context) (guard.Result, error) {
		return refused, s.Payments.InTx(ctx, writeEverything)
	})
	s.mustExecute(t, "key-2", func(ctx context.Context) (guard.Result, error) {
		return refused, s.Payments.InTx(ctx, func(ctx context.Context, tx payment.Tx) error {
			if err := writeEverything(ctx, tx); err != nil {
				return err
			}
			_, err := tx.Orders.Get(ctx, 1) // sends the writes above before it reads
			return errors.Join(err, tx.Outbox.Add(ctx, newEvent(order.EventPaid)))
		})
	})
	s.isEmpty(t)
}

func cleanUp(t *testing.T, s Stores) {
	for key, ttl := range map[string]time.Duration{"old-1": -time.Hour, "old-2": -time.Minute, "old-3": -time.Second, "live": time.Hour} {
		result := refused
		result.TTL = ttl
		s.mustExecute(t, key, func(context.Context) (guard.Result, error) { return result, nil })
	}
	for _, want := range []int{2, 1, 0} {
		n, err := s.Keys.DeleteExpired(t.Context(), 2)
		if n != want || err != nil {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	_, found, err := s.Keys.Lookup(t.Context(), claim("live").ID)
	if !found || err != nil {
		t.Errorf("the live record: found = %v, %v", found, err)
	}
}
