// Package nodes breaks the nodes of a cluster while clients work, and upgrades a cluster
// under load. Its checks are those of a fault run.
package nodes

import (
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/checks"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// verdictsOfBalancer are HAProxy's answers for a replica that is dead or stuck.
var verdictsOfBalancer = []string{"502", "503", "504"}

// Run breaks the nodes of a new cluster while clients work, and checks every promise. It
// prints the effect on clients for each strike.
func (p Plan) Run(t testing.TB) {
	t.Helper()
	s := world.StartOnCluster(t, e2e.BuildOrders(t), p.Asynchronous)
	s.ReportAtEnd(t, p.String())
	l := clients.New(t, s, p.Seed, verdictsOfBalancer)
	conclude := startWork(l)
	var windows []window
	for _, strike := range p.Strikes {
		windows = append(windows, strikeNodes(l, strike))
		checks.WantPromisesKept(l)
	}
	conclude()
	t.Logf("what clients saw:\n\n%s", table(effectsOf(windows, l.History.Attempts(), l.Finished())))
	t.Logf("figures: %d strikes, %d requests", len(p.Strikes), len(l.History.Attempts()))
}

// startWork lets the clients work until conclude is called, which checks every
// promise.
func startWork(l *clients.Load) (conclude func()) {
	check := checks.Begin(l)
	stop := l.Start(clients.Most)
	l.AwaitDecided(clients.Pause)
	return func() {
		stop()
		check()
		l.Counters.Require(l.T, world.PromisesChecked)
	}
}
