// Package audit shows what administrators changed and read (AUTH-12, AUTH-15).
package audit

import (
	"context"

	"example.com/orders/internal/core"
)

// Service runs the use cases about the audit log.
type Service struct {
	Log Log
}

// Log reads the audit log, which the transactions of the other packages write.
type Log interface {
	// Entries returns audit entries, newest first, and one more than the page asks for.
	Entries(ctx context.Context, page core.Page) ([]core.AuditEntry, error)
}
