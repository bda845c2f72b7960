package core

import "context"

// Event tells other services that an aggregate changed. It carries ids and amounts
// but no personal data (AUTH-16). The transaction that makes the change also writes
// the event to the outbox (R-DIST-OBX).
type Event struct {
	// Type is what happened, in the past tense: "order.created".
	Type string
	// Aggregate names what changed, "order/17". Events of one aggregate are published
	// in the order in which they were written.
	Aggregate string
	// Data holds the facts: ids, amounts as decimal strings, statuses.
	Data map[string]any
}

// Journal takes what a transaction has to tell besides its own rows. Both kinds
// commit with the transaction or not at all.
type Journal interface {
	// Publish puts an event into the outbox.
	Publish(ctx context.Context, e Event) error
	// Audit adds a row to the audit log; ID and At are filled in by the store.
	Audit(ctx context.Context, e AuditEntry) error
}
