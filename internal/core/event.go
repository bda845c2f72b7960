package core

import "context"

// Event announces to other services that an aggregate changed. It carries ids and amounts but
// no personal data (AUTH-16). The transaction that makes the change also writes the
// event to the outbox (R-DIST-OBX).
type Event struct {
	Type EventType
	// Aggregate names the changed aggregate, "order/17". The events of one aggregate
	// are published in the order they were written.
	Aggregate string
	// Data is a shape from the area's event.go: ids, money, statuses. The store maps it to
	// the published one, and rejects any other.
	Data any
}

// EventType is a name such as "order.created". Each area declares its types, and a test
// compares them with api/asyncapi.yaml.
type EventType string

// Outbox stores events until they are published.
type Outbox interface {
	// Add writes an event in the transaction: it is published if and only if the change
	// commits.
	Add(ctx context.Context, e Event) error
}
