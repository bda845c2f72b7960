package storetest

import (
	"context"
	"errors"
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
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

// orderLocks are the ports that lock an order, and what else they return.
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
	s.save(t, newProduct(1, "tea"), newProduct(2, "cup"), newOrder(1, "key-1"))
	for port := range orderLocks {
		for _, c := range grants {
			s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
				checkOrderLock(ctx, t, tx, port, c.grant, c.covers)
				return nil
			})
		}
	}
}

// checkOrderLock locks order 1 and checks that exactly the grants that cover it get it.
func checkOrderLock(ctx context.Context, t *testing.T, tx payment.Tx, port string, grant core.Grant, covers bool) {
	t.Helper()
	o, stock, err := orderLocks[port](ctx, tx, 1, grant)
	if !covers {
		if !errors.Is(err, core.ErrNotGranted) || o != nil || stock != nil {
			t.Errorf("%s.Lock for %+v: %v, %v, %v; want %v", port, grant, o, stock, err, core.ErrNotGranted)
		}
		return
	}
	if err != nil {
		t.Errorf("%s.Lock for %+v: %v", port, grant, err)
	}
	equal(t, port+": order", o, storedOrder(1, "key-1"))
	if port != "Orders" {
		equal(t, port+": products", len(stock), 2)
	}
}

func productLockFollowsGrant(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	s.save(t, tea)
	for grant, covers := range map[core.Grant]bool{
		core.GrantEverybody: true, {Seller: "shop-7"}: true,
		{}: false, {Seller: "shop-8"}: false, {Customer: "shop-7"}: false,
	} {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
			p, err := tx.Products.Lock(ctx, "tea", grant)
			adjusted, _, adjustErr := tx.StockAdjustments.Lock(ctx, "tea", core.Operation{}, grant)
			if !covers {
				if !errors.Is(err, core.ErrNotGranted) || p != nil {
					t.Errorf("for %+v: %v, %v; want %v", grant, p, err, core.ErrNotGranted)
				}
				if !errors.Is(adjustErr, core.ErrNotGranted) || adjusted != nil {
					t.Errorf("for an adjustment, %+v: %v, %v; want %v", grant, adjusted, adjustErr, core.ErrNotGranted)
				}
				return nil
			}
			equal(t, "product", p, tea)
			equal(t, "product to adjust", adjusted, tea)
			return errors.Join(err, adjustErr)
		})
	}
}

func absenceIsNotHidden(t *testing.T, s Stores) {
	s.save(t, newProduct(1, "tea"), newOrder(1, "key-1"))
	for _, c := range grants {
		s.inTx(t, func(ctx context.Context, tx payment.Tx) error {
			for port, lock := range orderLocks {
				if _, _, err := lock(ctx, tx, 2, c.grant); !errors.Is(err, core.ErrNotFound) {
					t.Errorf("%s.Lock for %+v: %v", port, c.grant, err)
				}
			}
			if _, err := tx.Products.Lock(ctx, "cup", c.grant); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("Products.Lock for %+v: %v", c.grant, err)
			}
			if _, _, err := tx.StockAdjustments.Lock(ctx, "cup", core.Operation{}, c.grant); !errors.Is(err, core.ErrNotFound) {
				t.Errorf("StockAdjustments.Lock for %+v: %v", c.grant, err)
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
