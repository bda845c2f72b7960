package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
)

var productCases = []testCase{
	{"a product that does not exist is not found", absentProduct},
	{"a product comes back as it was saved", productRoundTrip},
	{"times come back in UTC and to the microsecond", timesAreMicroseconds},
	{"money comes back with the decimals of its currency", moneyKeepsItsScale},
	{"a product changes", productChanges},
	{"stock is counted for several products at once", stockIsCounted},
	{"describing a product leaves what is reserved alone", describingLeavesReserved},
	{"there is one product of a SKU", oneProductOfASKU},
	{"stock is never reserved beyond what there is", reservedWithinOnHand},
	{"products are listed newest first", productPages},
	{"a product that is locked changes one after the other", productLock},
}

func (s *suite) product(sku string) *order.Product {
	s.Helper()
	var p *order.Product
	s.tx(func(ctx context.Context, tx payment.Tx) (err error) {
		p, err = tx.Products.Get(ctx, sku)
		return err
	})
	return p
}

// stored is how a product looks once it has been stored.
func stored(p *order.Product) *order.Product {
	kept := *p
	kept.New = false
	return &kept
}

func absentProduct(s *suite) {
	s.tx(func(ctx context.Context, tx payment.Tx) error {
		if _, err := tx.Products.Get(ctx, "tea"); !errors.Is(err, core.ErrNotFound) {
			s.Errorf("Get: %v", err)
		}
		if _, err := tx.Products.Lock(ctx, "tea"); !errors.Is(err, core.ErrNotFound) {
			s.Errorf("Lock: %v", err)
		}
		return nil
	})
}

func productRoundTrip(s *suite) {
	tea := newProduct(1, "tea")
	s.saved(tea, newProduct(2, "Tea")) // SKUs have two cases
	s.same("product", s.product("tea"), stored(tea))
	s.tx(func(ctx context.Context, tx payment.Tx) error {
		locked, err := tx.Products.Lock(ctx, "tea")
		s.same("locked product", locked, stored(tea))
		return err
	})
}

func timesAreMicroseconds(s *suite) {
	tea := newProduct(1, "tea")
	tea.CreatedAt = time.Date(2026, time.March, 1, 15, 4, 5, 123_456_789, time.FixedZone("MSK", 3*60*60))
	s.saved(tea)
	want := time.Date(2026, time.March, 1, 12, 4, 5, 123_456_000, time.UTC)
	s.same("created at", s.product("tea").CreatedAt, want)
	s.tx(func(_ context.Context, tx payment.Tx) error {
		s.same("now", tx.Now, tx.Now.UTC().Truncate(time.Microsecond))
		return nil
	})
}

func moneyKeepsItsScale(s *suite) {
	for currency, amount := range map[core.Currency]string{
		"RUB": "999999999999999.99", "JPY": "7", "KWD": "0.001", "CLF": "1.0000", "EUR": "10.00",
	} {
		p := newProduct(1, "sku-"+string(currency))
		p.Price = money(amount, currency)
		s.saved(p)
		s.same("price", s.product(p.SKU).Price.String(), amount+" "+string(currency))
	}
}

func productChanges(s *suite) {
	tea := newProduct(1, "tea")
	s.saved(tea)
	tea = stored(tea)
	tea.Name, tea.Price, tea.OnHand, tea.UpdatedAt = "Чай", money("5", "JPY"), 0, minute(9)
	s.saved(tea)
	s.same("product", s.product("tea"), tea)
}

func stockIsCounted(s *suite) {
	tea, cup, spoon := newProduct(1, "tea"), newProduct(2, "cup"), newProduct(3, "spoon")
	s.saved(tea, cup, spoon)
	tea, cup = stored(tea), stored(cup)
	tea.OnHand, tea.Reserved = 90, 10
	cup.Reserved = 100
	s.tx(func(ctx context.Context, tx payment.Tx) error {
		return tx.Products.SaveStock(ctx, order.Stock{"tea": tea, "cup": cup})
	})
	s.same("tea", s.product("tea"), tea)
	s.same("cup", s.product("cup"), cup)
	s.same("spoon", s.product("spoon"), stored(spoon))
}

func describingLeavesReserved(s *suite) {
	tea := newProduct(1, "tea")
	s.saved(tea)
	tea = stored(tea)
	tea.Reserved = 10
	s.tx(func(ctx context.Context, tx payment.Tx) error {
		return tx.Products.SaveStock(ctx, order.Stock{"tea": tea})
	})
	s.tx(func(ctx context.Context, tx payment.Tx) error {
		locked, err := tx.Products.Lock(ctx, "tea")
		if err != nil {
			return err
		}
		locked.OnHand = 10
		return tx.Products.Save(ctx, locked)
	})
	tea.OnHand = 10
	s.same("product", s.product("tea"), tea)
}

func oneProductOfASKU(s *suite) {
	tea := newProduct(1, "tea")
	s.saved(tea)
	second := newProduct(2, "tea")
	second.SellerID = "shop-8"
	s.refused("a second product of one SKU", second)
	s.same("product", s.product("tea"), stored(tea))
}

func reservedWithinOnHand(s *suite) {
	tea := newProduct(1, "tea")
	s.saved(tea)
	for _, counts := range [][2]int64{{10, 11}, {10, -1}, {-1, 0}} {
		wrong := stored(tea)
		wrong.OnHand, wrong.Reserved = counts[0], counts[1]
		err := s.Payments.InTx(s.Context(), func(ctx context.Context, tx payment.Tx) error {
			return tx.Products.SaveStock(ctx, order.Stock{"tea": wrong})
		})
		if err == nil {
			s.Errorf("%d of %d reserved: stored", counts[1], counts[0])
		}
	}
	s.same("product", s.product("tea"), stored(tea))
}

func productPages(s *suite) {
	names := map[int64]string{1: "a", 2: "b", 3: "c", 4: "d", 5: "e"}
	for id, sku := range names {
		p := newProduct(id, sku)
		p.CreatedAt = minute(int(id) / 2) // 2 and 3 are of one moment, and so are 4 and 5
		s.saved(p)
	}
	newer := int64(len(names))
	list := func(page core.Page) (found []*order.Product) {
		s.tx(func(ctx context.Context, tx payment.Tx) (err error) {
			found, err = tx.Products.List(ctx, page)
			return err
		})
		return found
	}
	at := func(p *order.Product) core.Position { return core.Position{CreatedAt: p.CreatedAt, ID: p.ID} }
	found := pages(s, 2, list, at, func() {
		newer++
		s.saved(newProduct(newer, "added-"+string(rune('0'+newer)))) // nobody who is reading sees it
	})
	var skus []string
	for _, p := range found {
		skus = append(skus, p.SKU)
	}
	s.same("products", skus, []string{"e", "d", "c", "b", "a"})
	s.same("first page and one more", len(list(core.Page{Limit: 3})), 4)
}

func productLock(s *suite) {
	s.saved(newProduct(1, "tea"))
	s.atOnce(20, func(ctx context.Context, tx payment.Tx, _ int) error {
		p, err := tx.Products.Lock(ctx, "tea")
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // lets the others come between, if they can
		p.OnHand++
		return tx.Products.Save(ctx, p)
	})
	s.same("on hand", s.product("tea").OnHand, int64(120))
}

// atOnce runs n transactions at the same time, which all have to succeed.
func (s *suite) atOnce(n int, fn func(ctx context.Context, tx payment.Tx, i int) error) {
	s.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := s.Payments.InTx(s.Context(), func(ctx context.Context, tx payment.Tx) error { return fn(ctx, tx, i) })
			if err != nil {
				s.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	all.Wait()
}
