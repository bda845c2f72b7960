package order

import (
	"context"

	"example.com/orders/internal/core"
)

// Filter selects orders in a list. Empty fields do not restrict it.
type Filter struct {
	CustomerID string
	Status     Status
	Reference  string
	// CreatedBy restricts a list by reference to orders that this actor created.
	CreatedBy string
	Created   core.Period
	// Grant restricts the list to orders that the reader may see.
	Grant core.Grant
}

// auditMetadata leaves out the reference, which is free text (AUTH-16).
func (f Filter) auditMetadata() core.Metadata {
	return core.Metadata{}.With("customer_id", f.CustomerID).With("status", string(f.Status)).WithPeriod(f.Created)
}

// ListOrders returns a page of orders, newest first, and the position after it.
// Customers see their orders, sellers the orders for their products, and administrators
// all orders, which is audited.
//
// Creators choose references, so customers and sellers who list by reference see only
// orders that they created.
func (s *Service) ListOrders(
	ctx context.Context, actor core.Actor, filter Filter, page core.Page,
) ([]*Order, *core.Position, error) {
	filter.Grant = ReadGrant(actor)
	var found []*Order
	if filter.Reference != "" && !filter.Grant.Everybody {
		filter.CreatedBy = actor.Subject
	}
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if found, err = tx.Orders.List(ctx, filter, filter.Created.Start(page)); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, filter.Grant.ListAccess(), "ListOrders",
			"orders", filter.auditMetadata())
	})
	found, next := core.Paginate(found, page.Limit, func(o *Order) core.Position {
		return core.Position{CreatedAt: o.CreatedAt, ID: o.ID}
	})
	return found, next, err
}
