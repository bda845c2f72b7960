package audit

import (
	"context"

	"example.com/orders/internal/core"
)

// ListAuditLog returns a page of the audit log, newest first, and the position of the
// next page. The HTTP adapter admits administrators only; the log has no owner to check.
func (s *Service) ListAuditLog(ctx context.Context, page core.Page) ([]core.AuditEntry, *core.Position, error) {
	entries, err := s.Log.Entries(ctx, page)
	entries, next := core.Paginate(entries, page.Limit, func(e core.AuditEntry) core.Position {
		return core.Position{CreatedAt: e.At, ID: e.ID}
	})
	return entries, next, err
}
