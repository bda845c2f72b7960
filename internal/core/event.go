package core

import "context"

// Event informs other services that an aggregate changed. It carries ids and amounts
// but no personal data (AUTH-16). The transaction that makes the change also writes
// the event to the outbox (R-DIST-OBX).
type Event struct {
	Type EventType
	// Aggregate names what changed, "order/17". Events of one aggregate are published
	// in the order in which they were written.
	Aggregate string
	// Data holds the facts: ids, amounts as decimal strings, statuses.
	Data map[string]any
}

// EventType names what happened, "order.created". Each area declares the types of its
// aggregates, and a test compares them with api/asyncapi.yaml.
type EventType string

// Outbox takes events that wait to be published.
type Outbox interface {
	// Add writes an event in the transaction, so that it is published if and only if the
	// change is committed.
	Add(ctx context.Context, e Event) error
}
