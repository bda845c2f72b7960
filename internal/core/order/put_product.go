package order

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/orders/internal/core"
)

// PutProduct is the command to create or replace a product.
type PutProduct struct {
	SKU   string
	Name  string
	Price core.Money
	// OnHand is the new quantity on hand, required for a new product. Nil leaves the
	// stock of an existing product unchanged.
	OnHand *int64
	// MustExist refuses to create the product.
	MustExist bool
	// Versions are the versions that the caller has seen, if any, and [NoVersion] for
	// each tag that is not ours. The product must have one of them.
	Versions []int64
}

// NoVersion stands for something that is no version of a product.
const NoVersion = 0

// PutProduct creates a product owned by the actor, or replaces one that the actor owns.
// It reports whether the product is new. Existing orders keep their prices.
//
// Stock is replaced only in a version that the caller has seen, so that a repeated or
// late command never brings back sold units.
//
// Refusals: forbidden_resource, validation_failed (a zero price, or no stock for a new
// product), precondition_failed (no product, or a different version),
// precondition_required (stock but no version), stock_reserved (fewer units on hand
// than reserved).
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
			p, err = tx.newProduct(ctx, actor.Subject, cmd.SKU)
		}
		if err != nil {
			return core.RefusalOf(err, "product")
		}
		if _, err := grant.Authorise(p.Owners()); err != nil {
			return err
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

func (tx Tx) newProduct(ctx context.Context, sellerID, sku string) (*Product, error) {
	id, err := tx.IDs.NextID(ctx, core.ProductIDs)
	return &Product{ID: id, SKU: sku, SellerID: sellerID, CreatedAt: tx.Now, New: true}, err
}

// replace changes all fields except owner and reserved quantity.
func (p *Product) replace(cmd PutProduct, now time.Time) error {
	if err := p.permits(cmd); err != nil {
		return err
	}
	onHand := p.OnHand
	if cmd.OnHand != nil {
		onHand = *cmd.OnHand
	}
	if onHand < p.Reserved {
		return p.stockReserved()
	}
	if p.New || p.Name != cmd.Name || !p.Price.Equal(cmd.Price) || p.OnHand != onHand {
		p.Version++
	}
	p.Name, p.Price, p.OnHand, p.UpdatedAt = cmd.Name, cmd.Price, onHand, now
	return nil
}

// permits checks the preconditions of the command.
func (p *Product) permits(cmd PutProduct) error {
	switch {
	case p.New && cmd.MustExist:
		return core.Refuse(core.CodePreconditionFailed, "there is no such product")
	case p.New && cmd.OnHand == nil:
		return core.InvalidField("/on_hand", "is required for a new product")
	case p.New:
		return nil
	case len(cmd.Versions) > 0 && !slices.ContainsFunc(cmd.Versions, func(v int64) bool { return v != NoVersion }):
		return core.Refuse(core.CodePreconditionFailed,
			"no ETag that you name is a version of a product; send it as you read it. If you did, a proxy has rewritten it")
	case len(cmd.Versions) > 0 && !slices.Contains(cmd.Versions, p.Version):
		return core.Refuse(core.CodePreconditionFailed,
			"the product has changed since the version that you have seen; read it again")
	case len(cmd.Versions) == 0 && cmd.OnHand != nil:
		return core.Refuse(core.CodePreconditionRequired,
			"to replace the stock of a product, name the version that you have seen (its ETag); or leave on_hand out")
	}
	return nil
}
