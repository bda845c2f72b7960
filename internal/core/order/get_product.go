package order

import (
	"context"

	"example.com/orders/internal/core"
)

// GetProduct reads a product; the catalogue is open to every role. Refusal:
// not_found.
func (s *Service) GetProduct(ctx context.Context, sku string) (*Product, error) {
	var p *Product
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		p, err = tx.Products.Get(ctx, sku)
		return orMissing(err, "product")
	})
	return p, err
}

// ListProducts reads a page of the catalogue, newest first.
func (s *Service) ListProducts(ctx context.Context, page core.Page) ([]*Product, *core.Position, error) {
	var products []*Product
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		products, err = tx.Products.List(ctx, page)
		return err
	})
	products, next := core.Paginate(products, page.Limit, func(p *Product) core.Position {
		return core.Position{CreatedAt: p.CreatedAt, ID: p.ID}
	})
	return products, next, err
}
