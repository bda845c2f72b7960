package entry

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Service runs the use cases about entries.
type Service struct {
	Store Store
}

// Store opens transactions.
type Store interface {
	// InTx runs fn in a transaction and commits it when fn returns nil. Inside a guarded
	// request it joins the transaction of the guard. fn may run twice, so it must have no
	// effect outside the transaction.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Read is InTx for a use case that changes nothing but the audit log.
	Read(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// ReadStale is Read for lists and the like, which a standby may serve. It is not for what
	// the answer to a command is compared with.
	ReadStale(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is what a transaction offers to the use cases of this package.
type Tx struct {
	// Now is when the transaction began, by the clock of the database, in UTC.
	Now      time.Time
	IDs      core.IDs
	Entries  Entries
	Outbox   core.Outbox
	AuditLog core.AuditLog
	// Inbox is for messages of other services: each takes effect once.
	Inbox core.Inbox
}

// Entries stores entries.
type Entries interface {
	// Get loads an entry, or returns [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Entry, error)
	// CreatedBy loads the entry that an operation has created, nil if there is none.
	CreatedBy(ctx context.Context, by core.Operation) (*Entry, error)
	// Add inserts an entry.
	Add(ctx context.Context, e *Entry) error
}
