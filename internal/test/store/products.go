package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var productCases = []storeCase{
	{"a product comes back as it was saved", productRoundTrip},
	{"times come back in UTC and to the microsecond", timesAreMicroseconds},
	{"money comes back with the decimals of its currency", moneyKeepsItsScale},
	{"a product changes", productChanges},
	{"stock is counted for several products at once", stockIsCounted},
	{"saving a product does not change its reserved quantity", savingKeepsReserved},
	{"there is one product of a SKU", oneProductOfASKU},
	{"stock is never reserved beyond what there is", reservedWithinOnHand},
	{"products are listed newest first", productPages},
	{"an adjustment is known by product and operation", adjustmentOfAnOperation},
	{"an operation adjusts a product once", oneAdjustmentOfAnOperation},
}

func (s Stores) product(t *testing.T, sku string) *order.Product {
	t.Helper()
	return query(t, s, func(ctx context.Context, tx payment.Tx) (*order.Product, error) { return tx.Products.Get(ctx, sku) })
}

func productRoundTrip(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	s.save(t, tea, newProduct(2, "Tea")) // SKUs have two cases
	equal(t, "product", s.product(t, "tea"), tea)
}

func timesAreMicroseconds(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	tea.CreatedAt = time.Date(2026, time.March, 1, 15, 4, 5, 123_456_789, time.FixedZone("MSK", 3*60*60))
	s.save(t, tea)
	want := time.Date(2026, time.March, 1, 12, 4, 5, 123_456_000, time.UTC)
	equal(t, "created at", s.product(t, "tea").CreatedAt, want)
	s.inTx(t, func(_ context.Context, tx payment.Tx) error {
		equal(t, "now", tx.Now, tx.Now.UTC().Truncate(time.Microsecond))
		return nil
	})
}

func moneyKeepsItsScale(t *testing.T, s Stores) {
	for currency, amount := range map[core.Currency]string{
		"RUB": "999999999999999.99", "JPY": "7", "KWD": "0.001", "CLF": "1.0000", "EUR": "10.00",
	} {
		p := newProduct(1, "sku-"+string(currency))
		p.Price = money(amount, currency)
		s.save(t, p)
		equal(t, "price", s.product(t, p.SKU).Price.String(), amount+" "+string(currency))
	}
}

func productChanges(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	s.save(t, tea)
	tea.Name, tea.Price, tea.OnHand, tea.Version, tea.UpdatedAt = "Чай", money("5", "JPY"), 0, 2, minute(9)
	s.save(t, tea)
	equal(t, "product", s.product(t, "tea"), tea)
}

func stockIsCounted(t *testing.T, s Stores) {
	tea, cup, spoon := newProduct(1, "tea"), newProduct(2, "cup"), newProduct(3, "spoon")
	s.save(t, tea, cup, spoon)
	tea.OnHand, tea.Reserved, tea.Version = 90, 10, 2
	cup.Reserved = 100
	s.save(t, order.Stock{"tea": tea, "cup": cup})
	equal(t, "tea", s.product(t, "tea"), tea)
	equal(t, "cup", s.product(t, "cup"), cup)
	equal(t, "spoon", s.product(t, "spoon"), spoon)
}

func savingKeepsReserved(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	s.save(t, tea)
	tea.Reserved = 10
	s.save(t, order.Stock{"tea": tea})
	tea.OnHand, tea.Reserved = 10, 9
	s.save(t, tea)
	tea.Reserved = 10
	equal(t, "product", s.product(t, "tea"), tea)
}

func oneProductOfASKU(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	s.save(t, tea)
	second := newProduct(2, "tea")
	second.SellerID = "shop-8"
	s.refuses(t, "a second product of one SKU", second)
	equal(t, "product", s.product(t, "tea"), tea)
}

func reservedWithinOnHand(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	s.save(t, tea)
	for _, counts := range [][2]int64{{10, 11}, {10, -1}, {-1, 0}} {
		wrong := *tea
		wrong.OnHand, wrong.Reserved = counts[0], counts[1]
		s.refuses(t, fmt.Sprintf("%d of %d reserved", counts[1], counts[0]), order.Stock{"tea": &wrong})
	}
	equal(t, "product", s.product(t, "tea"), tea)
}

func productPages(t *testing.T, s Stores) {
	save := func(id int64, at time.Time) *order.Product {
		p := newProduct(id, fmt.Sprint("sku-", id))
		p.CreatedAt = at
		s.save(t, p)
		return p
	}
	list := func(page core.Page) []*order.Product {
		return query(t, s, func(ctx context.Context, tx payment.Tx) ([]*order.Product, error) {
			return tx.Products.List(ctx, page)
		})
	}
	checkPages(t, save, list, func(p *order.Product) core.Position { return core.Position{CreatedAt: p.CreatedAt, ID: p.ID} })
}

func (s Stores) lockStock(t *testing.T, q order.StockQuery) order.LockedStock {
	t.Helper()
	return query(t, s, func(ctx context.Context, tx payment.Tx) (order.LockedStock, error) {
		return tx.StockAdjustments.Lock(ctx, q)
	})
}

// newAdjustment is a delivery of 5 units of tea.
func newAdjustment(id int64, by core.Operation) *order.StockAdjustment {
	return &order.StockAdjustment{
		ID: id, SKU: "tea", Change: 5, OnHand: 105, Reason: "delivery 88", By: by, CreatedAt: minute(int(id)),
	}
}

func adjustmentOfAnOperation(t *testing.T, s Stores) {
	tea := newProduct(1, "tea")
	loss := newAdjustment(12, operation("root", "key-1"))
	loss.Change, loss.Reason = -100, ""
	delivery := newAdjustment(11, operation("shop-7", "key-1"))
	s.save(t, tea, newProduct(2, "cup"), delivery, loss)
	for _, c := range []struct {
		sku  string
		by   core.Operation
		want *order.StockAdjustment
	}{
		{"tea", delivery.By, delivery},
		{"tea", loss.By, loss},
		{"tea", operation("shop-7", "key-2"), nil},
		{"cup", delivery.By, nil},
	} {
		locked := s.lockStock(t, order.StockQuery{SKU: c.sku, By: c.by, Grant: core.GrantEverybody})
		equal(t, "product", locked.Product.SKU, c.sku)
		equal(t, "adjustment", locked.Prior, c.want)
	}
}

func oneAdjustmentOfAnOperation(t *testing.T, s Stores) {
	s.save(t, newProduct(1, "tea"), newAdjustment(11, operation("shop-7", "key-1")))
	s.refuses(t, "a second adjustment by one operation", newAdjustment(12, operation("shop-7", "key-1")))
	s.save(t, newAdjustment(13, operation("shop-7", "key-2")), newAdjustment(14, operation("root", "key-1")))
}

// adjustmentReferring is a delivery with the reference A-1.
func adjustmentReferring(id int64, by core.Operation) *order.StockAdjustment {
	a := newAdjustment(id, by)
	a.Reference = "A-1"
	return a
}

func productKnowsItsReference(t *testing.T, s Stores) {
	made := adjustmentReferring(11, operation("shop-7", "key-1"))
	s.save(t, newProduct(1, "tea"), newProduct(2, "cup"), made, newAdjustment(12, operation("shop-7", "key-2")))
	for _, c := range []struct {
		sku, creator, reference string
		want                    bool
	}{
		{"tea", "shop-7", "A-1", true}, {"tea", "root", "A-1", false}, {"cup", "shop-7", "A-1", false},
		{"tea", "shop-7", "a-1", false}, {"tea", "shop-7", "A-2", false}, {"tea", "shop-7", "", false},
	} {
		q := order.StockQuery{SKU: c.sku, Reference: c.reference, By: operation(c.creator, "key-9"), Grant: core.GrantEverybody}
		if locked := s.lockStock(t, q); locked.ReferenceTaken != c.want || locked.Prior != nil {
			t.Errorf("%q of %s by %s: taken = %v, prior %v", c.reference, c.sku, c.creator, locked.ReferenceTaken, locked.Prior)
		}
	}
	own := s.lockStock(t, order.StockQuery{SKU: "tea", Reference: "A-1", By: made.By, Grant: core.GrantEverybody})
	equal(t, "adjustment", own.Prior, made)
}

func oneAdjustmentOfAReference(t *testing.T, s Stores) {
	otherProduct := adjustmentReferring(12, operation("shop-7", "key-2"))
	otherProduct.SKU = "cup"
	s.save(t, newProduct(1, "tea"), newProduct(2, "cup"), adjustmentReferring(11, operation("shop-7", "key-1")), otherProduct,
		adjustmentReferring(13, operation("root", "key-1")),
		newAdjustment(14, operation("shop-7", "key-4")), newAdjustment(15, operation("shop-7", "key-5")))
	s.refuses(t, "a second adjustment with one reference", adjustmentReferring(16, operation("shop-7", "key-6")))
}

func concurrentAdjustmentsOfAReference(t *testing.T, s Stores) {
	const n = 8
	s.save(t, newProduct(1, "tea"))
	var taken [n]bool
	s.concurrently(t, n, func(ctx context.Context, tx payment.Tx, i int) error {
		a := adjustmentReferring(int64(i+1), operation("shop-7", fmt.Sprint("key-", i)))
		locked, err := tx.StockAdjustments.Lock(ctx, order.StockQuery{SKU: a.SKU, Reference: a.Reference, By: a.By, Grant: core.GrantEverybody})
		if taken[i] = locked.ReferenceTaken; err != nil || taken[i] {
			return err
		}
		return tx.StockAdjustments.Add(ctx, a)
	})
	wantOneWinner(t, taken[:])
}
