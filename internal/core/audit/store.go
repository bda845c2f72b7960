package audit

import (
	"context"

	"example.com/orders/internal/core"
)

// Store opens transactions. InTx commits when fn returns nil. fn may run twice.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is what a transaction offers to the use cases of this package.
type Tx struct {
	Entries  Entries
	AuditLog core.AuditLog
}

// Entries reads the audit log, which the transactions of all packages write.
type Entries interface {
	// List returns audit entries, newest first, and one more than the page asks for.
	List(ctx context.Context, page core.Page) ([]core.AuditEntry, error)
}
