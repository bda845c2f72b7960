package outbox

import (
	"time"

	"github.com/google/uuid"
)

// Event is an event of the outbox on its way to the broker.
type Event struct {
	// ID identifies the event to every consumer. No other database repeats it, not even
	// one that was restored to a moment before the event.
	ID uuid.UUID
	// Source names the incarnation of the database that wrote the event. It stays the
	// same when the event is published a second time.
	Source string
	Type   string
	// Aggregate names what changed: "order/17".
	Aggregate string
	// Version is the schema version of Data.
	Version int
	// At is when the event was written.
	At time.Time
	// Data is a JSON object.
	Data []byte
	// Traceparent names the trace in which the event was written (W3C Trace Context), and
	// is empty if there was none.
	Traceparent string
}
