package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// ListBalanceTransactions reads a page of what moved a customer's balance, newest
// first. Refusal: forbidden_resource.
func (s *Service) ListBalanceTransactions(ctx context.Context, actor core.Actor, customerID string, page core.Page) ([]*LedgerEntry, *core.Position, error) {
	access, err := allowReading(actor, customerID)
	if err != nil {
		return nil, nil, err
	}
	var entries []*LedgerEntry
	err = s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if entries, err = tx.Balances.Entries(ctx, customerID, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.Journal, actor, access, "ListBalanceTransactions", resource(customerID))
	})
	entries, next := core.Paginate(entries, page.Limit, func(m *LedgerEntry) core.Position {
		return core.Position{CreatedAt: m.CreatedAt, ID: m.ID}
	})
	return entries, next, err
}
