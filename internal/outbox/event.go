package outbox

import "time"

// Event is an event of the outbox on its way to the broker.
type Event struct {
	// ID identifies the event to every consumer. IDs are unique, and within one
	// aggregate they grow.
	ID   int64
	Type string
	// Aggregate names what changed: "order/17".
	Aggregate string
	// Version is the schema version of Data.
	Version int
	// At is when the event was written.
	At time.Time
	// Data is a JSON object.
	Data []byte
}
