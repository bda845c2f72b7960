package order

import (
	"context"

	"example.com/orders/internal/core"
)

// Filter says which orders a list shows. Empty members do not filter.
type Filter struct {
	CustomerID string
	Status     Status
	// Visible is whose orders the reader may see at all; nil is everybody's.
	Visible core.Owners
}

// ListOrders reads a page of the actor's orders, newest first: those a customer made,
// those of a seller's products. An administrator reads everybody's, and that is
// audited.
func (s *Service) ListOrders(ctx context.Context, actor core.Actor, filter Filter, page core.Page) ([]*Order, *core.Position, error) {
	var access core.Access
	filter.Visible, access = visibleTo(actor)
	var found []*Order
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if found, err = tx.Orders.List(ctx, filter, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.Journal, actor, access, "ListOrders", "orders")
	})
	found, next := core.Paginate(found, page.Limit, func(o *Order) core.Position {
		return core.Position{CreatedAt: o.CreatedAt, ID: o.ID}
	})
	return found, next, err
}
