package faults

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Fault is one way in which something around the service breaks.
type Fault struct {
	// Name is what `make faults FAULT=…` selects, such as lost-commit-answer.
	Name string
	// Number is the number of the fault in docs/reliability.md, such as F3.
	Number string
	// Short says that the fault belongs to the short form in `make test`.
	Short bool
	// Needs is what the fault needs to be able to strike.
	Needs Needs
	// Strikes is how often it strikes in a run of this fault alone; 0 is once.
	Strikes int
	// Strike breaks something while clients work, and heals it. It runs in the goroutine of
	// the test. Nil breaks nothing.
	Strike func(t testing.TB, s *System, random *rand.Rand)
	// Verdicts are answers that only this fault may cause, such as "401 unauthenticated".
	Verdicts []string
	// Admits names checks of promises that the documents do not make for this fault.
	Admits []string
	// Proof names the counters that must be above zero after a run.
	Proof []string
}

// Needs says what a system must have.
type Needs struct {
	// Database moves the system to servers of the run's own, which the fault may break.
	// Without it, the run has a database on the shared server.
	Database func(t testing.TB, s *System)
	// Link lets the connections to PostgreSQL pass through a proxy for each replica.
	Link bool
	// Connections is the size of the pool of each replica; 0 is its default.
	Connections int
	// BrokerLink lets the connections to the broker pass through a proxy.
	BrokerLink bool
	// OneWithoutCards lets only the first replica accept cards.
	OneWithoutCards bool
	// Next builds the next version of the service before the clients start.
	Next bool
	// Grouped builds the service so that commands wait for others; see [overlay.Grouped].
	Grouped bool
	// Settings are settings of all replicas, "NAME=value" each.
	Settings []string
}

// with returns what a system must have for two faults, and reports whether one can have it.
// Servers of the run's own are made for one fault, and are not behind a proxy.
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

// none is the run in which nothing breaks but the clients.
var none = []Fault{{Name: "none", Number: "F0", Short: true}}

// All is every fault, in the order of their numbers.
var All = slices.Concat(none, processFaults, databaseFaults)

// ByName returns the fault with a name.
func ByName(name string) (Fault, bool) {
	i := slices.IndexFunc(All, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, false
	}
	return All[i], true
}
