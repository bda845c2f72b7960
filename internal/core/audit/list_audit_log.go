package audit

import (
	"context"

	"example.com/orders/internal/core"
)

// ListAuditLog returns a page of the audit log, newest first, and the position after
// it. The HTTP adapter admits administrators only. The log has no owner, so each read
// needs the admin override and is audited. The page does not include the entry for the
// read itself.
func (s *Service) ListAuditLog(
	ctx context.Context, actor core.Actor, page core.Page,
) ([]core.AuditEntry, *core.Position, error) {
	var entries []core.AuditEntry
	err := s.Store.InTx(ctx, func(ctx context.Context, tx Tx) error {
		var err error
		if entries, err = tx.Entries.List(ctx, page); err != nil {
			return err
		}
		return core.AuditRead(ctx, tx.AuditLog, actor, core.ByAdminOverride, "ListAuditLog", "audit-log", nil)
	})
	entries, next := core.Paginate(entries, page.Limit, func(e core.AuditEntry) core.Position {
		return core.Position{CreatedAt: e.At, ID: e.ID}
	})
	return entries, next, err
}
