// Package core holds the vocabulary that every part of the business shares:
// money, actors, faults, events and pages. It knows neither HTTP nor SQL.
package core

import (
	"context"
	"errors"
	"time"
)

// What a store answers besides what it was asked for.
var (
	// ErrNotFound: no row has the key asked for. Use cases turn it into a [Fault] that
	// names the thing.
	ErrNotFound = errors.New("not found")
	// ErrUnavailable: the store could not be reached or could not finish. Nothing was
	// kept, and trying again can help.
	ErrUnavailable = errors.New("store unavailable")
	// ErrOutcomeUnknown: the answer to COMMIT was lost. All was kept or nothing, and
	// only the database knows; nobody may simply try again (AUTH-19).
	ErrOutcomeUnknown = errors.New("outcome of the commit unknown")
)

// Event tells the outside that an aggregate changed. It carries ids and
// amounts and no personal data (AUTH-16), and leaves through the outbox of the
// transaction that made the change (R-DIST-OBX).
type Event struct {
	// Type is what happened, in the past tense: "order.created".
	Type string
	// Aggregate names the thing it happened to, "order/17". Events of one
	// aggregate are published in the order they were written in.
	Aggregate string
	// Data are the facts: ids, amounts as decimal strings, states.
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

// Position is a place in a list that is sorted by creation, newest first. The
// zero Position is the beginning of the list.
type Position struct {
	CreatedAt time.Time
	ID        int64
}

// Page asks for at most Limit rows that come after After.
type Page struct {
	After Position
	Limit int
}

// Paginate returns one page from rows, of which the store was asked for one more than the
// page holds. The position is where the next page begins, nil after the last one.
func Paginate[T any](rows []T, limit int, at func(T) Position) ([]T, *Position) {
	if len(rows) <= limit {
		return rows, nil
	}
	next := at(rows[limit-1])
	return rows[:limit], &next
}

// Inbox remembers the messages from outside that have been done (R-DIST-IDEM-1).
type Inbox interface {
	// FirstTime notes a message of a source in the transaction of its effect, and tells
	// whether it is new.
	FirstTime(ctx context.Context, source, messageID string) (bool, error)
}

// Operation names a business operation: who asked for it, and under which
// Idempotency-Key. It is stored beside the effect, where a unique index makes it
// the second line of defence (AUTH-19).
type Operation struct {
	Actor string
	Key   string
}

// Sequence is a kind of thing that has integer ids.
type Sequence int

// The sequences.
const (
	OrderIDs Sequence = iota
	PaymentIDs
	RefundIDs
	LedgerEntryIDs
	ProductIDs
)

// IDs hands out ids before the rows exist, so that no answer to a write is
// needed to go on. Ids are unique and never given twice; some are never used.
type IDs interface {
	NextID(ctx context.Context, of Sequence) (int64, error)
}
