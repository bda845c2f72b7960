package order

import (
	"context"
	"errors"

	"example.com/orders/internal/core"
)

// GetOrderByID reads an order for its customer, its seller, or an administrator,
// whose read is audited. Refusals: not_found, forbidden_resource.
func (s *Service) GetOrderByID(ctx context.Context, actor core.Actor, id int64) (*Order, error) {
	var o *Order
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if o, err = tx.Orders.Get(ctx, id); err != nil {
			return orMissing(err, "order")
		}
		access, err := o.AllowParties(actor, core.Admin)
		if err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.Journal, actor, access, "GetOrderById", Resource(id))
	})
	return o, err
}

// orMissing names what a store did not find.
func orMissing(err error, what string) error {
	if errors.Is(err, core.ErrNotFound) {
		return core.NotFound(what)
	}
	return err
}
