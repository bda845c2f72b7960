package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// ListBalanceTransactions reads a page of what moved a customer's balance, newest
// first. Refusal: forbidden_resource.
func (s *Service) ListBalanceTransactions(ctx context.Context, actor core.Actor, customerID string, page core.Page) ([]*Movement, *core.Position, error) {
	owned, err := allowReading(actor, customerID)
	if err != nil {
		return nil, nil, err
	}
	var movements []*Movement
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if movements, err = tx.Balances.Movements(ctx, customerID, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.Journal, actor, owned, "ListBalanceTransactions", resource(customerID))
	})
	movements, next := core.Cut(movements, page.Limit, func(m *Movement) core.Position {
		return core.Position{CreatedAt: m.CreatedAt, ID: m.ID}
	})
	return movements, next, err
}
