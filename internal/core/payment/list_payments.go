package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// ListPayments returns an order's payments with their refunds, newest first, to the
// customer or seller, or to an administrator (audited). Refusals: not_found,
// forbidden_resource.
func (s *Service) ListPayments(ctx context.Context, actor core.Actor, orderID int64) ([]*Payment, error) {
	var payments []*Payment
	err := s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		o, err := tx.Orders.Get(ctx, orderID)
		if err != nil {
			return core.RefusalOf(err, "order")
		}
		access, err := order.ReadGrant(actor).Authorise(o.Owners())
		if err != nil {
			return err
		}
		if payments, err = tx.Payments.Of(ctx, orderID); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "ListPayments",
			order.Resource(orderID), o.Owners().Metadata())
	})
	return payments, err
}

// Search selects payments of all orders. Empty fields do not restrict it.
type Search struct {
	Status Status
	Method Method
	// Disputed selects payments with an open dispute.
	Disputed bool
	Created  core.Period
}

// SearchPayments returns a page of payments, newest first, and the position after it,
// to administrators (audited). Refusal: forbidden_resource.
func (s *Service) SearchPayments(
	ctx context.Context, actor core.Actor, search Search, page core.Page,
) ([]*Payment, *core.Position, error) {
	access, err := searchGrant(actor).Authorise(core.Owners{})
	if err != nil {
		return nil, nil, err
	}
	var found []*Payment
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if found, err = tx.Payments.Search(ctx, search, search.Created.Start(page)); err != nil {
			return err
		}
		metadata := core.Metadata{}.With("status", string(search.Status)).With("method", string(search.Method))
		if search.Disputed {
			metadata = metadata.With("disputed", "true")
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "SearchPayments",
			"payments", metadata.WithPeriod(search.Created))
	})
	found, next := core.Paginate(found, page.Limit, func(p *Payment) core.Position {
		return core.Position{CreatedAt: p.CreatedAt, ID: p.ID}
	})
	return found, next, err
}
