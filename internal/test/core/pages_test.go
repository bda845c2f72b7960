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

// Every list is read page by page, newest first, while new rows come on top.
func TestListsArePaged(t *testing.T) {
	t.Parallel()
	const rows = 5
	for name, c := range map[string]struct {
		add  func(w *coretest.World)
		list func(w *coretest.World, page core.Page) (ids []int64, next *core.Position, err error)
	}{
		"ListProducts": {
			add: func(w *coretest.World) { w.Product(shop, w.Key(), "1.00", 1) },
			list: func(w *coretest.World, page core.Page) ([]int64, *core.Position, error) {
				found, next, err := w.Orders.ListProducts(w.Context(), page)
				return idsOf(found, func(p *order.Product) int64 { return p.ID }), next, err
			},
		},
		"ListOrders": {
			add: func(w *coretest.World) {
				sku := w.Key()
				w.Product(shop, sku, "1.00", 1)
				if err := create(w, order.Item{SKU: sku, Quantity: 1}); err != nil {
					w.Fatal(err)
				}
			},
			list: func(w *coretest.World, page core.Page) ([]int64, *core.Position, error) {
				found, next, err := w.Orders.ListOrders(w.Context(), ann, order.Filter{}, page)
				return idsOf(found, func(o *order.Order) int64 { return o.ID }), next, err
			},
		},
		"ListBalanceTransactions": {
			add: func(w *coretest.World) { w.Credit("ann", "1.00") },
			list: func(w *coretest.World, page core.Page) ([]int64, *core.Position, error) {
				found, next, err := w.Payments.ListBalanceTransactions(w.Context(), ann, "ann", page)
				return idsOf(found, func(m *payment.LedgerEntry) int64 { return m.ID }), next, err
			},
		},
		"ListAuditLog": {
			add: func(w *coretest.World) { w.Product(root, w.Key(), "1.00", 1) },
			list: func(w *coretest.World, page core.Page) ([]int64, *core.Position, error) {
				found, next, err := w.Audit.ListAuditLog(w.Context(), page)
				return idsOf(found, func(e core.AuditEntry) int64 { return e.ID }), next, err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := coretest.New(t)
			for i := range rows {
				if i%2 == 0 {
					w.Pass(time.Second) // the others are of the same moment as the one before
				}
				c.add(w)
			}
			var got []int64
			var sizes []int
			for page := (core.Page{Limit: 2}); ; {
				ids, next, err := c.list(w, page)
				if err != nil {
					t.Fatal(err)
				}
				got, sizes = append(got, ids...), append(sizes, len(ids))
				if next == nil {
					break
				}
				page.After = *next
				c.add(w) // nobody who is reading sees it
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
