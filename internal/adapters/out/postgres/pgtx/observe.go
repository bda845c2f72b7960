package pgtx

import "time"

// Observer observes transactions, and groups of commands that share one.
type Observer interface {
	// TransactionEnded is called with the number of runs until the outcome was final.
	TransactionEnded(runs int)
	// TransactionRestarted is called with the reason for another run.
	TransactionRestarted(reason string)
	// RecordsStored is called with the number of records that a transaction committed.
	RecordsStored(n int)
	// GroupRan is called with the number of commands before a group runs.
	GroupRan(commands int)
	// GroupSplit is called when a group has failed and is split in halves.
	GroupSplit()
	// CommandQueued is called with a command's wait for its group.
	CommandQueued(d time.Duration)
}

// Unobserved is the default observer.
type Unobserved = unobserved

type unobserved struct{}

func (unobserved) TransactionEnded(int)        {}
func (unobserved) TransactionRestarted(string) {}
func (unobserved) RecordsStored(int)           {}
func (unobserved) GroupRan(int)                {}
func (unobserved) GroupSplit()                 {}
func (unobserved) CommandQueued(time.Duration) {}

// Restart reasons: the connection was dead or led to a standby; the server rejected
// writes; a row was held for long.
const (
	deadConnection = "dead_connection"
	readOnlyServer = "read_only"
	lockTimeout    = "lock_timeout"
)
