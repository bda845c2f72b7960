package coretest_test

import (
	"testing"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

// putStock returns the command that makes the stock of the product tea what the fixture
// gave it at first, in one of the versions.
func putStock(versions ...int64) order.PutProduct {
	return order.PutProduct{
		SKU: "tea", Name: "Good tea", Price: coretest.Money("40.00", "RUB"), OnHand: new(int64(10)), Versions: versions,
	}
}

func TestPutProduct_NeedsAVersionToReplaceStock(t *testing.T) {
	t.Parallel()
	without := func(cmd order.PutProduct) order.PutProduct { cmd.OnHand = nil; return cmd }
	existing := func(cmd order.PutProduct) order.PutProduct { cmd.MustExist = true; return cmd }
	for name, c := range map[string]struct {
		prepare func(testing.TB, *coretest.Fixture) *order.Order
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			c.prepare(t, f)
			_, _, err := f.Orders.PutProduct(t.Context(), shop, c.cmd)
			if coretest.CodeOf(err) != c.want || (err == nil) != (c.want == "") || coretest.PointerOf(err) != c.pointer {
				t.Errorf("%v at %q; want %q at %q", err, coretest.PointerOf(err), c.want, c.pointer)
			}
		})
	}
}

// The stock is again what it was when the first command was sent, and the same command is
// late all the same.
func TestPutProduct_RefusesAnOldVersionWithTheSameStock(t *testing.T) {
	t.Parallel()
	f := coretest.New(t)
	f.Product(t, shop, "tea", "40.00", 8)
	old := f.Stock(t, "tea")
	put := putStock(old.Version) // 10 on hand
	if _, _, err := f.Orders.PutProduct(t.Context(), shop, put); err != nil {
		t.Fatal(err)
	}
	f.Credit(t, "ann", "80.00")
	o, _, err := f.Orders.CreateOrder(t.Context(), ann, order.CreateOrder{Items: []order.Item{{SKU: "tea", Quantity: 2}}, Key: f.Key()})
	if err != nil {
		t.Fatal(err)
	}
	f.Confirm(t, o.ID)
	checkState(t, f, old.OnHand, old.Reserved, "0.00")
	if _, _, err := f.Orders.PutProduct(t.Context(), shop, put); coretest.CodeOf(err) != core.CodePreconditionFailed {
		t.Errorf("the repeated command: %v; want %s", err, core.CodePreconditionFailed)
	}
	checkState(t, f, old.OnHand, old.Reserved, "0.00")
}

// A seller's change is refused when something has changed that it could undo, and only
// then.
func TestProduct_VersionGrowsWithNamePriceAndStock(t *testing.T) {
	t.Parallel()
	put := func(change func(*order.PutProduct)) func(testing.TB, *coretest.Fixture, *order.Order) error {
		return func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			cmd := putStock(f.Stock(t, "tea").Version)
			change(&cmd)
			_, _, err := f.Orders.PutProduct(t.Context(), shop, cmd)
			return err
		}
	}
	for name, c := range map[string]struct {
		prepare func(testing.TB, *coretest.Fixture) *order.Order
		do      func(testing.TB, *coretest.Fixture, *order.Order) error
		grows   bool
	}{
		"another name":         {placed, put(func(cmd *order.PutProduct) { cmd.Name = "Green tea" }), true},
		"another price":        {placed, put(func(cmd *order.PutProduct) { cmd.Price = coretest.Money("41.00", "RUB") }), true},
		"another currency":     {placed, put(func(cmd *order.PutProduct) { cmd.Price = coretest.Money("40", "JPY") }), true},
		"another stock":        {placed, put(func(cmd *order.PutProduct) { *cmd.OnHand = 11 }), true},
		"nothing":              {placed, put(func(*order.PutProduct) {}), false},
		"no stock":             {placed, put(func(cmd *order.PutProduct) { cmd.OnHand = nil }), false},
		"an adjustment":        {placed, run(adjustStock(-1), shop), true},
		"a reservation":        {placed, run(createOrder(1), ann), false},
		"the end of one":       {placed, run(cancel(""), ann), false},
		"a sale":               {placed, run(confirm(payment.FromBalance), ann), true},
		"goods that come back": {paid, run(cancel(""), ann), true},
		"a delivery": {placed, func(t testing.TB, f *coretest.Fixture, _ *order.Order) error {
			return f.Orders.Restock(t.Context(), order.Restock{SKU: "tea", Quantity: 5, Source: "warehouse", MessageID: "1"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			o := c.prepare(t, f)
			before := f.Stock(t, "tea").Version
			if err := c.do(t, f, o); err != nil {
				t.Fatal(err)
			}
			if after := f.Stock(t, "tea").Version; (after == before+1) != c.grows || (after == before) == c.grows {
				t.Errorf("version %d, before %d; grows = %v", after, before, c.grows)
			}
		})
	}
}
