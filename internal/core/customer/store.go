package customer

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// Store opens transactions, which commit when fn returns nil. fn may run twice.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	// Read is InTx for a use case that writes only to the audit log. It never waits for
	// transactions that write.
	Read(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a struct of stores bound to one transaction.
type Tx struct {
	// Now is the transaction start on the database clock, in UTC.
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
	// Save inserts a new profile or updates an existing one.
	Save(ctx context.Context, p *Profile) error
	// Delete deletes a locked profile.
	Delete(ctx context.Context, customerID string) error
}
