package memory

import (
	"context"
	"fmt"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// products implements [order.Products].
type products struct{ *tx }

// Get returns a product.
func (t products) Get(_ context.Context, sku string) (*order.Product, error) {
	p, found := t.products[sku]
	if !found {
		return nil, core.ErrNotFound
	}
	return copyOf(p), nil
}

// Lock returns a product that the grant covers. The transaction already has exclusive
// access to everything.
func (t products) Lock(ctx context.Context, sku string, g core.Grant) (*order.Product, error) {
	p, err := t.Get(ctx, sku)
	if err == nil && !t.store.admits(g, p.Owners()) {
		return nil, core.ErrNotGranted
	}
	return p, err
}

// List returns a page of products and one more, newest first.
func (t products) List(_ context.Context, page core.Page) ([]*order.Product, error) {
	rows := rowsOf(t.products, func(*order.Product) bool { return true }, func(p *order.Product) core.Position {
		return core.Position{CreatedAt: p.CreatedAt, ID: p.ID}
	})
	return pageOf(rows, page, copyOf), nil
}

// Save keeps a product; its stock is counted by SaveStock alone.
func (t products) Save(_ context.Context, p *order.Product) error {
	stored := copyOf(p)
	stored.Reserved = 0
	if old, found := t.products[p.SKU]; found {
		if p.New {
			return duplicate("product of one SKU")
		}
		stored.Reserved = old.Reserved
	}
	return t.keep(stored)
}

// SaveStock keeps the counts and versions of products.
func (t products) SaveStock(_ context.Context, stock order.Stock) error {
	for sku, p := range stock {
		stored := copyOf(t.products[sku])
		stored.OnHand, stored.Reserved, stored.Version = p.OnHand, p.Reserved, p.Version
		if err := t.keep(stored); err != nil {
			return err
		}
	}
	return nil
}

// keep repeats the rules about the counts, as the table's CHECKs do.
func (t products) keep(p *order.Product) error {
	if p.Version < 1 {
		return fmt.Errorf("%s has version %d", p.SKU, p.Version)
	}
	if p.Reserved < 0 || p.Reserved > p.OnHand {
		return fmt.Errorf("%s: %d of %d are reserved", p.SKU, p.Reserved, p.OnHand)
	}
	p.New, p.CreatedAt, p.UpdatedAt = false, stamp(p.CreatedAt), stamp(p.UpdatedAt)
	t.products[p.SKU] = p
	return nil
}

// stockAdjustments implements [order.StockAdjustments].
type stockAdjustments struct{ *tx }

// Lock returns a product that the grant covers, and the adjustment that the operation made
// before.
func (t stockAdjustments) Lock(ctx context.Context, sku string, by core.Operation, g core.Grant) (*order.Product, *order.StockAdjustment, error) {
	p, err := products(t).Lock(ctx, sku, g)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range t.adjusted {
		if a.SKU == sku && a.By == by {
			return p, copyOf(a), nil
		}
	}
	return p, nil, nil
}

// Add inserts an adjustment. An operation adjusts a product once.
func (t stockAdjustments) Add(_ context.Context, a *order.StockAdjustment) error {
	for _, other := range t.adjusted {
		if other.SKU == a.SKU && other.By == a.By {
			return duplicate("adjustment by one operation")
		}
	}
	stored := copyOf(a)
	stored.CreatedAt = stamp(a.CreatedAt)
	t.adjusted[a.ID] = stored
	return nil
}
