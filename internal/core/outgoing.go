package core

import "time"

// Outgoing is an [Event] on its way out, as the outbox keeps it.
type Outgoing struct {
	// ID names the event to everybody who receives it. It is unique, and grows within an
	// aggregate.
	ID        int64
	Type      string
	Aggregate string
	// Version is that of the shape of Data.
	Version int
	At      time.Time
	// Data are the facts as the journal encoded them: a JSON object.
	Data []byte
}
