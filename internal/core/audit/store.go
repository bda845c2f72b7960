package audit

import (
	"context"

	"example.com/orders/internal/core"
)

// Store opens transactions. InTx commits when fn returns nil. fn may run twice.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a struct of stores bound to one transaction.
type Tx struct {
	Entries  Entries
	AuditLog core.AuditLog
}

// Entries reads the audit log, which every package writes.
type Entries interface {
	// List returns entries, newest first, one more than the page limit.
	List(ctx context.Context, page core.Page) ([]core.AuditEntry, error)
}
