package postgres

import "time"

// TransactionObserver observes transactions.
type TransactionObserver interface {
	// TransactionEnded is called with how often a transaction ran until its outcome was
	// final.
	TransactionEnded(runs int)
	// TransactionRestarted is called with the reason when a transaction runs again.
	TransactionRestarted(reason string)
	// StandbyAsked is called with the outcome of a read that may be served by a standby.
	StandbyAsked(outcome string)
	// RecordsStored is called with the number of idempotency records that a transaction
	// has committed.
	RecordsStored(records int)
}

// ignored is the observer of a store that nobody observes.
type ignored struct{}

func (ignored) GroupRan(int)                {}
func (ignored) GroupSplit()                 {}
func (ignored) CommandQueued(time.Duration) {}
func (ignored) TransactionEnded(int)        {}
func (ignored) TransactionRestarted(string) {}
func (ignored) StandbyAsked(string)         {}
func (ignored) RecordsStored(int)           {}

// The reasons of transactions that restart on another connection: theirs was dead, or led to
// a standby; or the server did not accept their writes. A command that could not be joined
// with those of its group runs again alone.
const (
	deadConnection = "dead_connection"
	readOnlyServer = "read_only"
	notJoined      = "not_joined"
)

// lockTimeout is the reason of transactions that restart because they waited in vain for a
// row.
const lockTimeout = "lock_timeout"
