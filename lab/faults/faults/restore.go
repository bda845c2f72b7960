package faults

import (
	"math/rand/v2"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// restoreFaults lose a whole database.
var restoreFaults = []Fault{
	{
		Name: "restored-backup", Number: "F5", Needs: world.Needs{Database: world.OwnServer}, Strike: restoreBackup,
		Verdicts: verdictsOnLostOrders,
		Proof: []string{
			"backups restored", "effects lost by a failover", "lost keys that ran as new",
			"events of lost commits", "charges of lost payments", "messages lost",
		},
	},
}

// restoreBackup takes a base backup, lets the clients work on, and replaces the
// database with the backup. The card provider, the stream and the warehouse remember
// lost commits.
//
// In half the runs the server starts directly on the backup. In the others it recovers
// from an archive and begins a new timeline.
func restoreBackup(t testing.TB, l *clients.Load, random *rand.Rand) {
	t.Helper()
	backup := l.TakeBackup(t)
	c := l.NewProbe()
	l.AwaitDecided(clients.Pause)
	awaitLosses(t, l, c)
	lost := creditSome(c)

	begun := l.History.Now()
	for _, r := range l.Replicas {
		r.Process.Kill()
	}
	l.Server.Kill()
	if random.IntN(2) == 0 {
		world.BeginTimeline(t, backup)
		l.Counters.Add("timelines begun", 1)
	}
	l.Restore(t, backup)
	for _, r := range l.Replicas {
		r.Start(t)
	}
	l.BeginAgain(begun)
	l.Counters.Add("backups restored", 1)
	wantRunAsNew(t, c, lost)
}

// awaitLosses waits until everything outside has seen commits that the backup lacks:
// the provider has charged a payment, the stream has its event, and the warehouse has
// sent a message.
func awaitLosses(t testing.TB, l *clients.Load, c *clients.Client) {
	t.Helper()
	o := l.NewOrder(t, l.Replicas[0])
	p := l.ServiceAt(l.Replicas[0]).MustPayByCard(t, o.ID, "pm_card_visa")
	e2e.Eventually(t, "the world outside has what will be lost", func() bool {
		return l.Count(t, `SELECT count(*) FROM payment p, outbox e WHERE p.id = $1 AND p.status = 'captured'
			AND e.aggregate = 'order/' || p.order_id AND e.published_at IS NOT NULL`, p.ID) > 0
	})
	c.RestockUntilAcknowledged(t)
}
