package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// ListBalanceTransactions returns a page of the ledger entries of a customer's
// balances, newest first, and the position of the next page. Refusal:
// forbidden_resource.
func (s *Service) ListBalanceTransactions(ctx context.Context, actor core.Actor, customerID string, page core.Page) ([]*LedgerEntry, *core.Position, error) {
	access, err := authoriseReading(actor, customerID)
	if err != nil {
		return nil, nil, err
	}
	var entries []*LedgerEntry
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if entries, err = tx.Ledger.List(ctx, customerID, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "ListBalanceTransactions", resource(customerID), auditMetadata(customerID))
	})
	entries, next := core.Paginate(entries, page.Limit, func(e *LedgerEntry) core.Position {
		return core.Position{CreatedAt: e.CreatedAt, ID: e.ID}
	})
	return entries, next, err
}
