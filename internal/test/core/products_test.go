package coretest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

// putStock returns the command that makes the stock of the product tea what the fixture
// gave it at first, in one of the versions.
func putStock(versions ...int64) order.PutProduct {
	return order.PutProduct{
		SKU: "tea", Name: "Good tea", Price: money("40.00", "RUB"), OnHand: new(int64(10)), Versions: versions,
	}
}

func TestPutProduct_NeedsAVersionToReplaceStock(t *testing.T) {
	t.Parallel()
	without := func(cmd order.PutProduct) order.PutProduct { cmd.OnHand = nil; return cmd }
	existing := func(cmd order.PutProduct) order.PutProduct { cmd.MustExist = true; return cmd }
	for name, c := range map[string]struct {
		prepare func(testing.TB, *fixture) *order.Order
		cmd     order.PutProduct
		want    core.Code
		pointer string
	}{
		"a new product":                        {nothing, putStock(), "", ""},
		"a new product without stock":          {nothing, without(putStock()), core.CodeValidationFailed, "/on_hand"},
		"no product where there must be one":   {nothing, existing(putStock(1)), core.CodePreconditionFailed, ""},
		"stock in the version that it has":     {placed, putStock(1), "", ""},
		"stock in one of several versions":     {placed, putStock(7, 1, 0), "", ""},
		"stock in another version":             {placed, putStock(2), core.CodePreconditionFailed, ""},
		"stock without a version":              {placed, putStock(), core.CodePreconditionRequired, ""},
		"stock of whatever is there":           {placed, existing(putStock()), core.CodePreconditionRequired, ""},
		"no stock, without a version":          {placed, without(putStock()), "", ""},
		"no stock, of whatever is there":       {placed, existing(without(putStock())), "", ""},
		"no stock, in the version that it has": {placed, without(putStock(1)), "", ""},
		"no stock, in another version":         {placed, without(putStock(2)), core.CodePreconditionFailed, ""},
	} {
		f := newFixture()
		c.prepare(t, f)
		_, _, err := f.Orders.PutProduct(t.Context(), shop, c.cmd)
		wantCode(t, name, err, c.want)
		if pointer := pointerOf(err); pointer != c.pointer {
			t.Errorf("%s: it points at %q; want %q", name, pointer, c.pointer)
		}
	}
}

// The stock is again what it was when the first command was sent, and the same command is
// late all the same.
func TestPutProduct_RefusesAnOldVersionWithTheSameStock(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.product(t, shop, "tea", "40.00", 8)
	put := putStock(f.stock(t, "tea").Version) // 10 on hand
	if _, _, err := f.Orders.PutProduct(t.Context(), shop, put); err != nil {
		t.Fatal(err)
	}
	f.credit(t, "ann", "80.00")
	o := f.create(t, ann, order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}})
	mustRun(t, f, confirm(payment.FromBalance), ann, o)
	f.wantState(t, 8, 0, "0.00")
	_, _, err := f.Orders.PutProduct(t.Context(), shop, put)
	wantCode(t, "the repeated command", err, core.CodePreconditionFailed)
	f.wantState(t, 8, 0, "0.00")
}

// A seller's change is refused when something has changed that it could undo, and only
// then.
func TestProduct_VersionGrowsWithNamePriceAndStock(t *testing.T) {
	t.Parallel()
	put := func(change func(*order.PutProduct)) command {
		return func(ctx context.Context, r request) (bool, error) {
			cmd := putStock(1)
			change(&cmd)
			_, _, err := r.Orders.PutProduct(ctx, r.actor, cmd)
			return false, err
		}
	}
	deliver := func(ctx context.Context, r request) (bool, error) {
		return false, r.Orders.Restock(ctx, order.Restock{SKU: "tea", Quantity: 5, Source: "warehouse", MessageID: "1"})
	}
	for name, c := range map[string]struct {
		prepare func(testing.TB, *fixture) *order.Order
		do      command
		by      core.Actor
		grows   int64
	}{
		"another name":         {placed, put(func(cmd *order.PutProduct) { cmd.Name = "Green tea" }), shop, 1},
		"another price":        {placed, put(func(cmd *order.PutProduct) { cmd.Price = money("41.00", "RUB") }), shop, 1},
		"another currency":     {placed, put(func(cmd *order.PutProduct) { cmd.Price = money("40", "JPY") }), shop, 1},
		"another stock":        {placed, put(func(cmd *order.PutProduct) { *cmd.OnHand = 11 }), shop, 1},
		"nothing":              {placed, put(func(*order.PutProduct) {}), shop, 0},
		"no stock":             {placed, put(func(cmd *order.PutProduct) { cmd.OnHand = nil }), shop, 0},
		"an adjustment":        {placed, adjustStock(-1), shop, 1},
		"a reservation":        {placed, createOrder(1), ann, 0},
		"the end of one":       {placed, cancel(""), ann, 0},
		"a sale":               {placed, confirm(payment.FromBalance), ann, 1},
		"goods that come back": {paid, cancel(""), ann, 1},
		"a delivery":           {placed, deliver, shop, 1},
	} {
		f := newFixture()
		o := c.prepare(t, f)
		before := f.stock(t, "tea").Version
		mustRun(t, f, c.do, c.by, o)
		if after := f.stock(t, "tea").Version; after != before+c.grows {
			t.Errorf("%s: version %d, before %d; want it to grow by %d", name, after, before, c.grows)
		}
	}
}

func TestPutProduct_KeepsTheOwner(t *testing.T) {
	t.Parallel()
	f := newFixture()
	made, isNew, err := f.Orders.PutProduct(t.Context(), shop, putStock())
	if err != nil || !isNew || made.SellerID != "shop" {
		t.Errorf("new = %v, of %s, %v", isNew, made.SellerID, err)
	}
	f.advanceClock(time.Hour)
	cmd := order.PutProduct{SKU: "tea", Name: "Green tea", Price: money("40.00", "RUB")}
	changed, isNew, err := f.Orders.PutProduct(t.Context(), root, cmd)
	if err != nil || isNew || changed.SellerID != "shop" || changed.ID != made.ID || !changed.CreatedAt.Equal(made.CreatedAt) {
		t.Errorf("an administrator's change: new = %v, %+v, %v", isNew, changed, err)
	}
	if p := f.stock(t, "tea"); p.Name != "Green tea" || !p.UpdatedAt.Equal(f.now()) {
		t.Errorf("got %+v", p)
	}
}

func TestAdjustStock_ChangesTheQuantityOnHand(t *testing.T) {
	t.Parallel()
	f := newFixture()
	placed(t, f)
	onHand := int64(10)
	for _, change := range []int64{5, -13, 1} { // 2 are reserved
		onHand += change
		cmd := order.AdjustStock{SKU: "tea", Change: change, Reason: "a count", Key: f.key()}
		a, _, err := f.Orders.AdjustStock(t.Context(), shop, cmd)
		if err != nil {
			t.Fatal(err)
		}
		want := &order.StockAdjustment{
			ID: a.ID, SKU: "tea", Change: change, OnHand: onHand, Reason: "a count",
			By: core.Operation{Actor: "shop", Key: cmd.Key}, CreatedAt: f.now(),
		}
		if diff := cmp.Diff(want, a); diff != "" || a.ID == 0 {
			t.Errorf("adjustment %d (-want +got):\n%s", a.ID, diff)
		}
		f.wantState(t, onHand, 2, "100.00")
	}
}

// A repetition finds nothing to delete. Nothing changes, so the audit log has one entry.
func TestDeleteCustomerProfile_CanBeRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture()
	withProfile(t, f)
	caused := f.effects(func() {
		for range 3 {
			mustRun(t, f, deleteProfile, root, nil)
		}
	})
	if diff := cmp.Diff(effects{Audited: []string{"root DeleteCustomerProfile profile/ann"}}, caused); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	wantCode(t, "the deleted profile", run(getProfile, ann)(t, f, nil), core.CodeNotFound)
	withProfile(t, f) // a customer can have a profile again
}
