// Package faults contains the ways to break something while clients work.
package faults

import (
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
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
	Needs world.Needs
	// Strikes is the number of strikes in a run with only this fault; 0 means one.
	Strikes int
	// Strike breaks something while clients work, and heals it. It runs in the test
	// goroutine. Nil breaks nothing.
	Strike func(t testing.TB, l *clients.Load, random *rand.Rand)
	// Verdicts are answers that only this fault may cause, such as "401
	// unauthenticated".
	Verdicts []string
	// Proof names counters that must be positive after a run.
	Proof []string
}

// none breaks nothing but the clients.
var none = []Fault{{Name: "none", Number: "F0", Short: true}}

// All are all faults.
var All = slices.Concat(
	none, replicaFaults, clientFaults, programFaults, clockFaults, tokenFaults, providerFaults, elsewhereFaults, brokerFaults, upgradeFaults,
	cardlessFaults, stalledFaults, serverFaults, linkFaults, failoverFaults, diskFaults, restoreFaults,
)

// ByName returns a fault by name.
func ByName(name string) (Fault, bool) {
	i := slices.IndexFunc(All, func(f Fault) bool { return f.Name == name })
	if i < 0 {
		return Fault{}, false
	}
	return All[i], true
}
