package customer

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Store opens transactions, which commit when fn returns nil. fn may run twice.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Read is InTx for a use case that changes nothing but the audit log. It never waits
	// for transactions that write.
	Read(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is what a transaction offers to the use cases of this package.
type Tx struct {
	// Now is when the transaction began, by the clock of the database, in UTC.
	Now      time.Time
	Profiles Profiles
	AuditLog core.AuditLog
}

// Profiles stores profiles.
type Profiles interface {
	// Get loads a profile, or returns [core.ErrNotFound].
	Get(ctx context.Context, customerID string) (*Profile, error)
	// Lock locks and loads a profile, or returns [core.ErrNotFound].
	Lock(ctx context.Context, customerID string) (*Profile, error)
	// Save inserts a profile that is new, and updates any other.
	Save(ctx context.Context, p *Profile) error
	// Delete deletes a profile that is locked.
	Delete(ctx context.Context, customerID string) error
}
