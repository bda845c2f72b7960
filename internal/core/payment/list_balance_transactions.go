package payment

import (
	"context"

	"example.com/orders/internal/core"
)

// EntryFilter selects a customer's ledger entries. Empty fields do not restrict it.
type EntryFilter struct {
	CustomerID string
	Reference  string
	Created    core.Period
}

// auditMetadata leaves out the reference, which is free text (AUTH-16).
func (f EntryFilter) auditMetadata() core.Metadata {
	return auditMetadata(f.CustomerID).WithPeriod(f.Created)
}

// ListBalanceTransactions returns a page of the ledger entries on a customer's
// balances, newest first, and the position after it. Refusal: forbidden_resource.
func (s *Service) ListBalanceTransactions(
	ctx context.Context, actor core.Actor, filter EntryFilter, page core.Page,
) ([]*LedgerEntry, *core.Position, error) {
	access, err := authoriseReading(actor, filter.CustomerID)
	if err != nil {
		return nil, nil, err
	}
	var entries []*LedgerEntry
	err = s.Store.Read(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if entries, err = tx.Ledger.List(ctx, filter, filter.Created.Start(page)); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, access, "ListBalanceTransactions",
			resource(filter.CustomerID), filter.auditMetadata())
	})
	entries, next := core.Paginate(entries, page.Limit, func(e *LedgerEntry) core.Position {
		return core.Position{CreatedAt: e.CreatedAt, ID: e.ID}
	})
	return entries, next, err
}
