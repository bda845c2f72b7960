package coretest_test

import (
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	coretest "example.com/orders/internal/test/core"
)

// lists are all lists of the use cases: how to add a row, and how to read a page.
var lists = map[string]struct {
	add  func(t testing.TB, f *coretest.Fixture)
	list func(t testing.TB, f *coretest.Fixture, page core.Page) (ids []int64, next *core.Position, err error)
}{
	"ListProducts": {
		add: func(t testing.TB, f *coretest.Fixture) { f.Product(t, shop, f.Key(), "1.00", 1) },
		list: func(t testing.TB, f *coretest.Fixture, page core.Page) ([]int64, *core.Position, error) {
			found, next, err := f.Orders.ListProducts(t.Context(), page)
			return idsOf(found, func(p *order.Product) int64 { return p.ID }), next, err
		},
	},
	"ListOrders": {
		add: func(t testing.TB, f *coretest.Fixture) {
			sku := f.Key()
			f.Product(t, shop, sku, "1.00", 1)
			if err := create(t, f, order.Item{SKU: sku, Quantity: 1}); err != nil {
				t.Fatal(err)
			}
		},
		list: func(t testing.TB, f *coretest.Fixture, page core.Page) ([]int64, *core.Position, error) {
			found, next, err := f.Orders.ListOrders(t.Context(), ann, order.Filter{}, page)
			return idsOf(found, func(o *order.Order) int64 { return o.ID }), next, err
		},
	},
	"ListBalanceTransactions": {
		add: func(t testing.TB, f *coretest.Fixture) { f.Credit(t, "ann", "1.00") },
		list: func(t testing.TB, f *coretest.Fixture, page core.Page) ([]int64, *core.Position, error) {
			found, next, err := f.Payments.ListBalanceTransactions(t.Context(), ann, payment.EntryFilter{CustomerID: "ann"}, page)
			return idsOf(found, func(m *payment.LedgerEntry) int64 { return m.ID }), next, err
		},
	},
	"ListAuditLog": {
		add: func(t testing.TB, f *coretest.Fixture) { f.Product(t, root, f.Key(), "1.00", 1) },
		list: func(t testing.TB, f *coretest.Fixture, page core.Page) ([]int64, *core.Position, error) {
			found, next, err := f.Audit.ListAuditLog(t.Context(), root, page)
			return idsOf(found, func(e core.AuditEntry) int64 { return e.ID }), next, err
		},
	},
}

// Every list is read page by page, newest first, while new rows are added.
func TestLists_ReturnEveryRowOnce(t *testing.T) {
	t.Parallel()
	const rows = 5
	for name, c := range lists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := coretest.New(t)
			for i := range rows {
				if i%2 == 0 {
					f.AdvanceClock(time.Second) // the others are of the same moment as the one before
				}
				c.add(t, f)
			}
			var got []int64
			var sizes []int
			for page := (core.Page{Limit: 2}); ; {
				ids, next, err := c.list(t, f, page)
				if err != nil {
					t.Fatal(err)
				}
				got, sizes = append(got, ids...), append(sizes, len(ids))
				if next == nil {
					break
				}
				page.After = *next
				c.add(t, f) // above the page, so that it is not read
			}
			if !slices.Equal(sizes, []int{2, 2, 1}) || !slices.IsSortedFunc(got, func(a, b int64) int { return int(b - a) }) || len(slices.Compact(got)) != rows {
				t.Errorf("pages of %v with %v; want the first %d, the newest first", sizes, got, rows)
			}
		})
	}
}

func idsOf[T any](rows []T, id func(T) int64) []int64 {
	var ids []int64
	for _, row := range rows {
		ids = append(ids, id(row))
	}
	return ids
}
