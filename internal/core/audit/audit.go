// Package audit shows what administrators did and saw (AUTH-12, AUTH-15).
package audit

import (
	"context"

	"example.com/orders/internal/core"
)

// Log reads the audit log, which the transactions of the other packages write.
type Log interface {
	// Entries gives one row more than the page asks for, newest first.
	Entries(ctx context.Context, page core.Page) ([]core.AuditEntry, error)
}

// Service is the use cases about the audit log.
type Service struct {
	Log Log
}

// ListAuditLog reads a page of the audit log, newest first. Only administrators come
// here, by their role; there is nothing to own.
func (s *Service) ListAuditLog(ctx context.Context, page core.Page) ([]core.AuditEntry, *core.Position, error) {
	entries, err := s.Log.Entries(ctx, page)
	entries, next := core.Paginate(entries, page.Limit, func(e core.AuditEntry) core.Position {
		return core.Position{CreatedAt: e.At, ID: e.ID}
	})
	return entries, next, err
}
