package core

import "context"

// Inbox records processed messages (R-DIST-IDEM-1).
type Inbox interface {
	// FirstTime records a message, identified by source and id, in the transaction of
	// its effect. It reports whether the message is new.
	FirstTime(ctx context.Context, source, messageID string) (bool, error)
}
