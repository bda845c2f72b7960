package order

import (
	"context"

	"example.com/orders/internal/core"
)

// AdjustStock is the command to change a product's stock by a difference: a delivery, a
// loss, a count.
type AdjustStock struct {
	SKU    string
	Change int64
	Reason string
	// Reference is an optional id from the caller.
	Reference string
	Key       string
}

// Validate refuses a change of zero.
func (cmd AdjustStock) Validate() error {
	if cmd.Change == 0 {
		return core.InvalidField("/change", "must not be zero")
	}
	return nil
}

// AdjustStock adds units to a product's stock or takes units from it. If the same
// operation already adjusted the product, it only returns that adjustment and true
// (AUTH-19, second line of defence).
//
// Refusals: not_found, forbidden_resource, validation_failed (a zero change, or too
// many units), reference_taken, stock_reserved (fewer units on hand than reserved),
// idempotency_key_reused.
func (s *Service) AdjustStock(ctx context.Context, actor core.Actor, cmd AdjustStock) (*StockAdjustment, bool, error) {
	if err := cmd.Validate(); err != nil {
		return nil, false, err
	}
	grant, by := productGrant(actor), core.Operation{Actor: actor.Subject, Key: cmd.Key}
	var a *StockAdjustment
	var repeated bool
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		locked, err := tx.StockAdjustments.Lock(ctx, StockQuery{SKU: cmd.SKU, Reference: cmd.Reference, By: by, Grant: grant})
		if err != nil {
			return core.RefusalOf(err, "product")
		}
		p := locked.Product
		if _, err := grant.Authorise(p.Owners()); err != nil {
			return err
		}
		if a, repeated = locked.Prior, locked.Prior != nil; repeated {
			return a.repeats(cmd)
		}
		if locked.ReferenceTaken {
			return core.ReferenceTaken("you have already adjusted the stock of this product")
		}
		if err := p.adjust(cmd.Change, "/change"); err != nil {
			return err
		}
		a = p.adjustment(cmd, by, tx.Now)
		if err := tx.saveAdjustment(ctx, p, a); err != nil {
			return err
		}
		return core.AuditChange(ctx, tx.AuditLog, actor, "AdjustStock", p.resource(), a.auditMetadata(p))
	})
	return a, repeated, err
}

// saveAdjustment saves the adjustment and the changed stock, and publishes the event.
func (tx Tx) saveAdjustment(ctx context.Context, p *Product, a *StockAdjustment) error {
	var err error
	if a.ID, err = tx.IDs.NextID(ctx, core.StockAdjustmentIDs); err != nil {
		return err
	}
	if err := tx.Products.SaveStock(ctx, Stock{p.SKU: p}); err != nil {
		return err
	}
	if err := tx.StockAdjustments.Add(ctx, a); err != nil {
		return err
	}
	return tx.Outbox.Add(ctx, p.Event(EventStockAdjusted, a))
}
