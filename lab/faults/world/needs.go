package world

import (
	"slices"
	"testing"
)

// Needs describes a system.
type Needs struct {
	// Database moves the system to separate servers, which the fault may break. Without
	// it, the run has a database on the shared server.
	Database func(t testing.TB, s *System)
	// Link puts a proxy between each replica and PostgreSQL.
	Link bool
	// Connections is each replica's pool size; 0 is the default.
	Connections int
	// BrokerLink puts a proxy between the replicas and the broker.
	BrokerLink bool
	// OneWithoutCards lets only the first replica accept cards.
	OneWithoutCards bool
	// Next are the migrations of the service's next version, which is built before the
	// clients start.
	Next []Migration
	// Grouped builds the service so that commands wait for others.
	Grouped bool
	// Settings apply to all replicas, "NAME=value" each.
	Settings []string
}

// With merges the needs for two faults, and reports whether one system can meet both. A
// system with separate servers serves one fault and has no proxy.
func (n Needs) With(other Needs) (both Needs, possible bool) {
	both = Needs{
		Database:        n.Database,
		Link:            n.Link || other.Link,
		Connections:     max(n.Connections, other.Connections),
		BrokerLink:      n.BrokerLink || other.BrokerLink,
		OneWithoutCards: n.OneWithoutCards || other.OneWithoutCards,
		Next:            slices.Concat(n.Next, other.Next),
		Grouped:         n.Grouped || other.Grouped,
		Settings:        slices.Concat(n.Settings, other.Settings),
	}
	if n.Database == nil {
		both.Database = other.Database
	}
	possible = (n.Database == nil || other.Database == nil) && (both.Database == nil || !both.Link)
	return both, possible
}
