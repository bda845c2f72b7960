// Package run contains the fault run: retrying and misbehaving clients use several
// replicas while something breaks. Afterwards the run checks every promise in AUTH-19.
//
// A run has a seed, a workload, faults, a history and checks:
//
//   - [Plan.Run] starts a [world.System] and its [clients.Load], and lets each
//     [faults.Fault] strike.
//   - Each client attempt is a line in the history.
//   - After the fault, the clients retry until each operation is decided.
//   - Package checks compares the history, the database, the card provider and the stream.
//   - The counters prove that the fault happened: without them, success means nothing.
//
// Package nodes does the same on a cluster, and breaks its nodes instead.
//
// The seed decides the requests and the time of the strike. The run prints it with the
// command that repeats the run.
package run

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"example.com/orders/lab/faults/checks"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/faults"
	"example.com/orders/lab/faults/world"
)

// Run runs a plan's workload while its faults strike, and checks every promise. It returns
// the number of requests.
func (p Plan) Run(t testing.TB) (requests int) {
	t.Helper()
	all, err := p.union()
	if err != nil {
		t.Fatal(err)
	}
	s := world.Start(t, all.Needs)
	s.ReportAtEnd(t, fmt.Sprintf("faults PLAN='%s'", p))
	l := clients.New(t, s, p.Seed, all.Verdicts)
	random := rand.New(rand.NewPCG(p.Seed, 2*clients.Striker))
	conclude := checks.Begin(l)
	stop := l.Start(p.Clients)
	for _, strike := range p.Strikes {
		l.AwaitDecided(strike.After)
		if f, _ := faults.ByName(strike.Fault); f.Strike != nil {
			f.Strike(t, l, random)
		}
	}
	l.AwaitDecided(clients.Pause)
	stop()
	conclude()
	s.CountShared(t)
	s.Counters.Require(t, all.Proof...)
	return len(s.History.Attempts())
}
