package faults

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Fault is one way to break something around the service.
type Fault struct {
	// Name is the value for `make -C lab faults FAULT=…`, such as lost-commit-answer.
	Name string
	// Number is the fault's number in docs/reliability.md, such as F3.
	Number string
	// Short includes the fault in the short form in `make test`.
	Short bool
	// Needs are the fault's requirements.
	Needs Needs
	// Strikes is the number of strikes in a run with only this fault; 0 means one.
	Strikes int
	// Strike breaks something while clients work, and heals it. It runs in the test
	// goroutine. Nil breaks nothing.
	Strike func(t testing.TB, s *System, random *rand.Rand)
	// Verdicts are answers that only this fault may cause, such as "401
	// unauthenticated".
	Verdicts []string
	// Proof names counters that must be positive after a run.
	Proof []string
}

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
	// Next builds the service's next version before the clients start.
	Next bool
	// Grouped builds the service so that commands wait for others.
	Grouped bool
	// Settings apply to all replicas, "NAME=value" each.
	Settings []string
}

// with merges the needs for two faults, and reports whether one system can meet both. A
// system with separate servers serves one fault and has no proxy.
func (n Needs) with(other Needs) (both Needs, possible bool) {
	both = Needs{
		Database:        n.Database,
		Link:            n.Link || other.Link,
		Connections:     max(n.Connections, other.Connections),
		BrokerLink:      n.BrokerLink || other.BrokerLink,
		OneWithoutCards: n.OneWithoutCards || other.OneWithoutCards,
		Next:            n.Next || other.Next,
		Grouped:         n.Grouped || other.Grouped,
		Settings:        slices.Concat(n.Settings, other.Settings),
	}
	if n.Database == nil {
		both.Database = other.Database
	}
	possible = (n.Database == nil || other.Database == nil) && (both.Database == nil || !both.Link)
	return both, possible
}

// none breaks nothing but the clients.
var none = []Fault{{Name: "none", Number: "F0", Short: true}}

// All are all faults in numerical order.
var All = slices.Concat(none, processFaults, databaseFaults)

// ByName returns a fault by name.
func ByName(name string) (Fault, bool) {
	i := slices.IndexFunc(All, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, false
	}
	return All[i], true
}
