package faults

import (
	"math/rand/v2"
	"testing"
)

// pause is how many operations are decided at least before the first strike, between two
// strikes, and after the last.
const pause = 30

// Run runs the workload of a seed while the fault strikes, and checks every promise.
func Run(t testing.TB, f Fault, seed uint64) {
	t.Helper()
	s := start(t, f.Needs)
	reportAtEnd(t, f, s, seed)
	l := newLoad(t, s, seed, f.Verdicts)
	before := l.footprint()
	random := rand.New(rand.NewPCG(seed, 101))
	stop := l.start()
	for range max(f.Strikes, 1) {
		l.awaitDecided(pause + random.Int64N(pause))
		f.Strike(t, s, random)
		l.checkIntents()
	}
	l.awaitDecided(pause)
	stop()
	s.Counters.Add(unknownReplayed, replayedUnknowns(s.History.Attempts()))
	l.settle()
	l.lookUpAgain()
	l.check(f.Admits)
	l.checkHistory()
	l.awaitNoLeaks(before)
	s.Counters.Require(t, f.Proof...)
}
