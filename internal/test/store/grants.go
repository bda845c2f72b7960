package storetest

import (
	"context"
	"errors"
	"fmt"
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

// wantLocked checks that a grant that covers a row gets it, and that another gets nothing.
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
		p, _, err := tx.StockAdjustments.Lock(ctx, sku, core.Operation{}, g)
		return p, err
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
