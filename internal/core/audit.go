package core

import (
	"context"
	"strconv"
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
	Metadata Metadata
}

// Metadata describes an action: whose the resource is, and what was asked or changed. It
// holds ids, amounts, quantities, statuses and names of members, and no personal data
// (AUTH-16): no text that somebody wrote.
type Metadata map[string]string

// With adds a value, unless it is empty.
func (m Metadata) With(name, value string) Metadata {
	if value != "" {
		m[name] = value
	}
	return m
}

// WithID adds an id.
func (m Metadata) WithID(name string, id int64) Metadata {
	return m.With(name, strconv.FormatInt(id, 10))
}

// WithAmount adds an amount of money.
func (m Metadata) WithAmount(amount Money) Metadata {
	return m.With("amount", amount.Decimal()).With("currency", string(amount.Currency()))
}

// WithPeriod adds the times that restrict a list.
func (m Metadata) WithPeriod(p Period) Metadata {
	return m.With("created_from", timeText(p.From)).With("created_to", timeText(p.To))
}

// timeText returns "" for the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Metadata says whose a resource is.
func (o Owners) Metadata() Metadata {
	return Metadata{}.With("customer_id", o.Customer).With("seller_id", o.Seller)
}

// AuditLog is the record of what administrators do.
type AuditLog interface {
	// Add writes an entry in the transaction. The store sets ID and At.
	Add(ctx context.Context, e AuditEntry) error
}

// AuditRead records a read that only an admin override allowed. A read by the owner
// leaves no entry (AUTH-12).
func AuditRead(ctx context.Context, log AuditLog, actor Actor, access Access, action, resource string, metadata Metadata) error {
	if access != ByAdminOverride {
		return nil
	}
	return log.Add(ctx, AuditEntry{Actor: actor.Subject, Action: action, Resource: resource, Metadata: metadata})
}

// AuditChange records a change by an administrator, whoever owns the resource
// (AUTH-15). A change by anybody else leaves no entry.
func AuditChange(ctx context.Context, log AuditLog, actor Actor, action, resource string, metadata Metadata) error {
	if !actor.Has(Admin) {
		return nil
	}
	return log.Add(ctx, AuditEntry{Actor: actor.Subject, Action: action, Resource: resource, Metadata: metadata})
}
