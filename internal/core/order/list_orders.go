package order

import (
	"context"

	"example.com/orders/internal/core"
)

// Filter selects orders of a list. Empty fields do not restrict it.
type Filter struct {
	CustomerID string
	Status     Status
	Reference  string
	// CreatedBy restricts a list by reference to the orders that this actor created. It is
	// empty only in a list without a reference or of everybody.
	CreatedBy string
	Created   core.Period
	// Grant restricts the list to the orders that the reader may see.
	Grant core.Grant
}

// auditMetadata says in the audit log which orders were asked for. A reference is text that
// somebody wrote (AUTH-16).
func (f Filter) auditMetadata() core.Metadata {
	return core.Metadata{}.With("customer_id", f.CustomerID).With("status", string(f.Status)).WithPeriod(f.Created)
}

// ListOrders returns a page of orders, newest first, and the position of the next page.
// Customers see their own orders, and sellers the orders of their products.
// Administrators see all orders; that is audited.
//
// A reference is its creator's own id, so a list by reference shows customers and sellers
// only those of their orders that they created.
func (s *Service) ListOrders(ctx context.Context, actor core.Actor, filter Filter, page core.Page) ([]*Order, *core.Position, error) {
	filter.Grant = ReadGrant(actor)
	var found []*Order
	if filter.Reference != "" && !filter.Grant.Everybody {
		filter.CreatedBy = actor.Subject
	}
	read := s.Store.ReadStale
	if filter.Reference != "" || filter.Grant.ListAccess() == core.ByAdminOverride {
		read = s.Store.Read // it looks for what a command has done, or it is audited
	}
	err := read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if found, err = tx.Orders.List(ctx, filter, filter.Created.Start(page)); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, filter.Grant.ListAccess(), "ListOrders", "orders", filter.auditMetadata())
	})
	found, next := core.Paginate(found, page.Limit, func(o *Order) core.Position {
		return core.Position{CreatedAt: o.CreatedAt, ID: o.ID}
	})
	return found, next, err
}
