package order

import (
	"context"

	"example.com/orders/internal/core"
)

// GetProduct returns a product. The catalogue is open to every role. Refusal:
// not_found.
func (s *Service) GetProduct(ctx context.Context, sku string) (*Product, error) {
	var p *Product
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		p, err = tx.Products.Get(ctx, sku)
		return core.RefusalOf(err, "product")
	})
	return p, err
}
