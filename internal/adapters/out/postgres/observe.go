package postgres

import "time"

// TransactionObserver observes transactions.
type TransactionObserver interface {
	// TransactionEnded is called with how often a transaction ran until its outcome was
	// final.
	TransactionEnded(runs int)
	// TransactionRestarted is called with the reason when a transaction runs again.
	TransactionRestarted(reason string)
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
func (ignored) RecordsStored(int)           {}

// deadConnection is the reason of a transaction that restarts on another connection.
const deadConnection = "dead_connection"
