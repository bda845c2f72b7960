package group

import "time"

// Config holds the settings of groups.
type Config struct {
	// Lanes is the number of transactions at which commands with an idempotency key
	// start to queue and share a transaction. Zero disables shared transactions.
	Lanes int
	// Observe receives events; nil disables it.
	Observe Observer
}

// Observer observes groups of commands that share a transaction.
type Observer interface {
	// GroupRan is called with the number of commands before a group runs.
	GroupRan(commands int)
	// GroupSplit is called when a group has failed and is split in halves.
	GroupSplit()
	// CommandQueued is called with a command's wait for its group.
	CommandQueued(d time.Duration)
	// RecordsStored is called with the number of records that a transaction committed.
	RecordsStored(n int)
}

// Unobserved ignores all events. Observers of some embed it.
type Unobserved struct{}

// GroupRan implements [Observer].
func (Unobserved) GroupRan(int) {}

// GroupSplit implements [Observer].
func (Unobserved) GroupSplit() {}

// CommandQueued implements [Observer].
func (Unobserved) CommandQueued(time.Duration) {}

// RecordsStored implements [Observer].
func (Unobserved) RecordsStored(int) {}
