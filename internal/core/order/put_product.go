package order

import (
	"context"
	"errors"
	"time"

	"example.com/orders/internal/core"
)

// PutProduct is the command to create or replace a product.
type PutProduct struct {
	SKU    string
	Name   string
	Price  core.Money
	OnHand int64
}

// PutProduct creates a product, which then belongs to the actor, or replaces one of the
// actor's own. It reports whether the product is new. Existing orders keep the price at
// which they were created.
//
// Refusals: forbidden_resource, validation_failed (a price of zero), stock_reserved
// (fewer units on hand than are reserved).
func (s *Service) PutProduct(ctx context.Context, actor core.Actor, cmd PutProduct) (*Product, bool, error) {
	if cmd.Price.IsZero() {
		return nil, false, core.InvalidField("/price/amount", "must be greater than zero")
	}
	grant := productGrant(actor)
	var p *Product
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		p, err = tx.Products.Lock(ctx, cmd.SKU, grant)
		if errors.Is(err, core.ErrNotFound) {
			p, err = tx.newProduct(ctx, actor.Subject, cmd.SKU, grant)
		}
		if err != nil {
			return core.RefusalOf(err, "product")
		}
		before := *p
		if err := p.replace(cmd, tx.Now); err != nil {
			return err
		}
		if err := tx.Products.Save(ctx, p); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "PutProduct", p.resource(), p.auditMetadata(before))
	})
	return p, p != nil && p.New, err
}

// newProduct returns a product of a seller who may have products.
func (tx Tx) newProduct(ctx context.Context, sellerID, sku string, grant core.Grant) (*Product, error) {
	p := &Product{SKU: sku, SellerID: sellerID, CreatedAt: tx.Now, New: true}
	if _, err := grant.Authorise(p.Owners()); err != nil {
		return nil, err
	}
	var err error
	p.ID, err = tx.IDs.NextID(ctx, core.ProductIDs)
	return p, err
}

// replace changes everything about a product except its owner and its reserved
// quantity.
func (p *Product) replace(cmd PutProduct, now time.Time) error {
	if cmd.OnHand < p.Reserved {
		return p.stockReserved()
	}
	p.Name, p.Price, p.OnHand, p.UpdatedAt = cmd.Name, cmd.Price, cmd.OnHand, now
	return nil
}
