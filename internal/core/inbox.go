package core

import "context"

// Inbox records which messages of other services have been processed
// (R-DIST-IDEM-1).
type Inbox interface {
	// FirstTime records a message in the transaction of its effect, and reports whether
	// it had not been recorded before. A message is identified by its source and its id.
	FirstTime(ctx context.Context, source, messageID string) (bool, error)
}
