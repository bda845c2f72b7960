package core

import (
	"context"
	"time"
)

// AuditEntry records what an administrator did, or saw, by passing the
// ownership check (AUTH-12, AUTH-15).
type AuditEntry struct {
	ID       int64
	Actor    string
	At       time.Time
	Action   string
	Resource string
	Metadata map[string]string
}

// AuditRead records that an administrator read what only the bypass opened; a read
// by its owner leaves no row (AUTH-12).
func AuditRead(ctx context.Context, j Journal, actor Actor, access Access, action, resource string) error {
	if access != ByAdminOverride {
		return nil
	}
	return j.Audit(ctx, AuditEntry{Actor: actor.Subject, Action: action, Resource: resource})
}

// AuditChange records a change by an administrator, whoever owns the resource
// (AUTH-15). A change by anybody else leaves no row.
func AuditChange(ctx context.Context, j Journal, actor Actor, action, resource string, metadata map[string]string) error {
	if !actor.Has(Admin) {
		return nil
	}
	return j.Audit(ctx, AuditEntry{Actor: actor.Subject, Action: action, Resource: resource, Metadata: metadata})
}
