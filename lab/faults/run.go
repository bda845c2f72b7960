package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Run runs a plan's workload while its faults strike, and checks every promise.
func Run(t testing.TB, p Plan) {
	t.Helper()
	all, err := p.union()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, all.Needs)
	reportAtEnd(t, fmt.Sprintf("faults PLAN='%s'", p), s)
	l := newLoad(t, s, p.Seed, all.Verdicts)
	before := l.base()
	random := rand.New(rand.NewPCG(p.Seed, 2*striker))
	stopWatch := l.watch()
	stop := l.start(p.Clients)
	for _, strike := range p.Strikes {
		l.awaitDecided(strike.After)
		if f, _ := ByName(strike.Fault); f.Strike != nil {
			f.Strike(t, s, random)
		}
	}
	l.awaitDecided(pause)
	stop()
	l.conclude(stopWatch, before)
	s.countShared(t)
	s.Counters.Require(t, append(all.Proof, looks)...)
}

// conclude settles open work from the clients, and checks every promise.
func (l *Load) conclude(stopWatch func(), before footprint) {
	l.t.Helper()
	l.Counters.Add(unknownReplayed, replayedUnknowns(l.History.Attempts()))
	l.settle()
	stopWatch()
	l.lookUpAgain()
	l.check()
	l.checkHistory()
	l.awaitNoLeaks(before)
}
