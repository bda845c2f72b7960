package outbox

import (
	"time"

	"github.com/google/uuid"
)

// Event is an outbox event.
type Event struct {
	// ID identifies the event to every consumer. No other database repeats it, not even
	// one restored to a moment before the event.
	ID uuid.UUID
	// Source names the database incarnation that wrote the event. A republished event
	// keeps it.
	Source string
	Type   string
	// Aggregate names the changed aggregate, "order/17".
	Aggregate string
	// Version is Data's schema version.
	Version int
	// At is the creation time.
	At time.Time
	// Data is a JSON object.
	Data []byte
	// Traceparent is the trace context when the event was written (W3C), or "".
	Traceparent string
}
