package core

import (
	"context"
	"strconv"
	"time"
)

// AuditEntry records a change or an admin-override read by an administrator (AUTH-12,
// AUTH-15).
type AuditEntry struct {
	ID       int64
	Actor    string
	At       time.Time
	Action   string
	Resource string
	Metadata Metadata
}

// Metadata describes an audited action: the owners and the requested change. It holds
// ids, amounts, quantities, statuses and member names, but no personal data and no free
// text (AUTH-16).
type Metadata map[string]string

// With adds a value unless it is empty.
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

// WithAmount adds an amount and its currency.
func (m Metadata) WithAmount(amount Money) Metadata {
	return m.With("amount", amount.Decimal()).With("currency", string(amount.Currency()))
}

// WithPeriod adds the time bounds that are set.
func (m Metadata) WithPeriod(p Period) Metadata {
	return m.With("created_from", timeText(p.From)).With("created_to", timeText(p.To))
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Metadata returns the owners as audit metadata.
func (o Owners) Metadata() Metadata {
	return Metadata{}.With("customer_id", o.Customer).With("seller_id", o.Seller)
}

// AuditLog stores audit entries.
type AuditLog interface {
	// Add writes an entry in the transaction. The store sets ID and At.
	Add(ctx context.Context, e AuditEntry) error
}

// AuditRead records a read that only an admin override allowed. Reads by owners leave
// no entry (AUTH-12).
func AuditRead(
	ctx context.Context, log AuditLog, actor Actor, access Access, action, resource string, metadata Metadata,
) error {
	if access != ByAdminOverride {
		return nil
	}
	return log.Add(ctx, AuditEntry{Actor: actor.Subject, Action: action, Resource: resource, Metadata: metadata})
}

// AuditChange records a change by an administrator, even to their own resource
// (AUTH-15). Changes by other roles leave no entry.
func AuditChange(
	ctx context.Context, log AuditLog, actor Actor, action, resource string, metadata Metadata,
) error {
	if !actor.Has(Admin) {
		return nil
	}
	return log.Add(ctx, AuditEntry{Actor: actor.Subject, Action: action, Resource: resource, Metadata: metadata})
}
