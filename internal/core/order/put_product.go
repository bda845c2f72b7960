package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/orders/internal/core"
)

// PutProduct describes a product as it shall be from now on.
type PutProduct struct {
	SKU    string
	Name   string
	Price  core.Money
	OnHand int64
}

// PutProduct makes a product, which then belongs to the actor, or changes one of
// the actor's own; the flag tells that it is new. Orders that exist keep the price
// they were made at.
//
// Refusals: forbidden_resource, validation_failed (a price of nothing),
// stock_reserved (fewer on hand than live holds keep).
func (s *Service) PutProduct(ctx context.Context, actor core.Actor, cmd PutProduct) (*Product, bool, error) {
	if cmd.Price.IsZero() {
		return nil, false, core.InvalidField("/price/amount", "must be greater than zero")
	}
	var p *Product
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		p, err = tx.Products.Lock(ctx, cmd.SKU)
		if errors.Is(err, core.ErrNotFound) {
			p, err = tx.newProduct(ctx, actor, cmd.SKU)
		}
		if err != nil {
			return err
		}
		if _, err := p.allow(actor); err != nil {
			return err
		}
		if err := p.describe(cmd, tx.Now); err != nil {
			return err
		}
		if err := tx.Products.Save(ctx, p); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.Journal, actor, "PutProduct", "product/"+p.SKU, nil)
	})
	return p, p != nil && p.New, err
}

func (tx Tx) newProduct(ctx context.Context, actor core.Actor, sku string) (*Product, error) {
	id, err := tx.IDs.NextID(ctx, core.ProductIDs)
	if err != nil {
		return nil, err
	}
	return &Product{ID: id, SKU: sku, SellerID: actor.Subject, CreatedAt: tx.Now, New: true}, nil
}

// describe changes everything about a product but its owner and what is reserved.
func (p *Product) describe(cmd PutProduct, now time.Time) error {
	if cmd.OnHand < p.Reserved {
		return core.Refuse(core.Conflict, core.CodeStockReserved,
			fmt.Sprintf("%d of %s are reserved, so on_hand cannot be lower", p.Reserved, p.SKU))
	}
	p.Name, p.Price, p.OnHand, p.UpdatedAt = cmd.Name, cmd.Price, cmd.OnHand, now
	return nil
}
