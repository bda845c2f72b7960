package faults

import (
	"math/rand/v2"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// pause is how many operations are decided at least before the first strike, between two
// strikes, and after the last.
const pause = 30

// Run runs the workload of a seed while the fault strikes, and checks every promise.
func Run(t testing.TB, f Fault, seed uint64) {
	t.Helper()
	s := start(t, f.Needs)
	l := newLoad(s, seed)
	random := rand.New(rand.NewPCG(seed, clients))
	stop := l.start(t)
	for range max(f.Strikes, 1) {
		l.awaitDecided(t, pause+random.Int64N(pause))
		f.Strike(t, s, random)
	}
	l.awaitDecided(t, pause)
	stop()
	e2e.CheckInvariants(t, s.DB, nil)
	s.Counters.Require(t, f.Proof...)
	t.Logf("%s, seed %d: %s", f.Name, seed, &s.Counters)
}
