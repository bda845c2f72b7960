package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Message identifies a message from a different service.
type Message struct {
	Source string
	ID     string
	// SentAt is when the message was stored by the broker or made by its sender, on that
	// clock. Copies may have later times.
	SentAt time.Time
}

// Inbox records processed messages (R-DIST-IDEM-1). It forgets the oldest, and remembers
// until when these were sent.
type Inbox interface {
	// Recall reports whether a message is recorded, and until when forgotten messages may
	// have been sent.
	Recall(ctx context.Context, source, id string) (known bool, forgottenUntil time.Time, err error)
	// Record records a message in the transaction that applies it.
	Record(ctx context.Context, m Message) error
	// Renew records a further delivery of a known message.
	Renew(ctx context.Context, m Message) error
}

// ErrForgotten means that a message may have been processed before, and is forgotten.
// It was not processed now.
var ErrForgotten = errors.New("the message may have been processed before")

// maxClockLead is how far the clock of a sender may be ahead of the database clock. The
// times of messages further ahead would decide for too long what counts as forgotten.
const maxClockLead = 24 * time.Hour

// FirstTime records a message and reports whether it is new. It returns [ErrForgotten] for
// an unknown message that is as old as a forgotten one: a broker may deliver a message long
// after the inbox has forgotten it.
func FirstTime(ctx context.Context, inbox Inbox, now time.Time, m Message) (bool, error) {
	m.SentAt = m.SentAt.Truncate(time.Microsecond) // as stored, or it would be later than itself
	known, forgottenUntil, err := inbox.Recall(ctx, m.Source, m.ID)
	latest := now.Add(maxClockLead)
	switch {
	case err != nil:
		return false, err
	case known:
		if m.SentAt.After(latest) {
			m.SentAt = latest
		}
		return false, inbox.Renew(ctx, m)
	case !m.SentAt.After(forgottenUntil):
		return false, fmt.Errorf("%w: it was sent at %s, and messages sent until %s are forgotten",
			ErrForgotten, rfc3339(m.SentAt), rfc3339(forgottenUntil))
	case m.SentAt.After(latest):
		return false, fmt.Errorf("%w: it was sent at %s, more than %s ahead of the database clock",
			ErrForgotten, rfc3339(m.SentAt), maxClockLead)
	}
	return true, inbox.Record(ctx, m)
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }
