package order

import (
	"context"

	"example.com/orders/internal/core"
)

// ListProducts returns a page of the catalogue, newest first, and the position after
// it.
func (s *Service) ListProducts(ctx context.Context, page core.Page) ([]*Product, *core.Position, error) {
	var products []*Product
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		products, err = tx.Products.List(ctx, page)
		return err
	})
	products, next := core.Paginate(products, page.Limit, func(p *Product) core.Position {
		return core.Position{CreatedAt: p.CreatedAt, ID: p.ID}
	})
	return products, next, err
}
