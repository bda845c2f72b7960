package core

import (
	"context"
	"time"
)

// AuditEntry records what an administrator changed, or read by admin override
// (AUTH-12, AUTH-15).
type AuditEntry struct {
	ID       int64
	Actor    string
	At       time.Time
	Action   string
	Resource string
	Metadata map[string]string
}

// AuditLog is the record of what administrators do.
type AuditLog interface {
	// Add writes an entry in the transaction. The store sets ID and At.
	Add(ctx context.Context, e AuditEntry) error
}

// AuditRead records a read that only an admin override allowed. A read by the owner
// leaves no entry (AUTH-12).
func AuditRead(ctx context.Context, log AuditLog, actor Actor, access Access, action, resource string) error {
	if access != ByAdminOverride {
		return nil
	}
	return log.Add(ctx, AuditEntry{Actor: actor.Subject, Action: action, Resource: resource})
}

// AuditChange records a change by an administrator, whoever owns the resource
// (AUTH-15). A change by anybody else leaves no entry.
func AuditChange(ctx context.Context, log AuditLog, actor Actor, action, resource string, metadata map[string]string) error {
	if !actor.Has(Admin) {
		return nil
	}
	return log.Add(ctx, AuditEntry{Actor: actor.Subject, Action: action, Resource: resource, Metadata: metadata})
}
