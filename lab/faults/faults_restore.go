package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// restoreFaults lose a whole database.
var restoreFaults = []Fault{
	{
		Name: "restored-backup", Number: "F5", Needs: Needs{Database: ownServer}, Strike: restoreBackup,
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
func restoreBackup(t testing.TB, s *System, random *rand.Rand) {
	t.Helper()
	backup := s.takeBackup(t)
	c := s.newProbe()
	s.load.awaitDecided(pause)
	s.awaitLosses(t, c)
	lost := c.creditSome()

	begun := s.History.Now()
	for _, r := range s.Replicas {
		r.process.Kill()
	}
	s.Server.Kill()
	if random.IntN(2) == 0 {
		beginTimeline(t, backup)
		s.Counters.Add("timelines begun", 1)
	}
	s.restore(t, backup)
	for _, r := range s.Replicas {
		r.Start(t)
	}
	s.load.beginAgain(begun)
	s.Counters.Add("backups restored", 1)
	c.wantRunAsNew(lost)
}

// takeBackup copies the running server's data directory.
func (s *System) takeBackup(t testing.TB) (dir string) {
	t.Helper()
	dir = s.Server.DataDir() + "-backup" // removed with the server
	backup := s.Server.Command(t.Context(), "pg_basebackup", "--pgdata="+dir, "--dbname="+s.Server.URL("postgres"),
		"--checkpoint=fast", "--no-sync")
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	return dir
}

// awaitLosses waits until everything outside has seen commits that the backup lacks:
// the stream has their events, the provider has charged a payment, and the warehouse
// has sent a message.
func (s *System) awaitLosses(t testing.TB, c *client) {
	t.Helper()
	service := s.ServiceOf(s.Replicas[0].process)
	o := service.MustCreateOrder(t, e2e.Alice, "book", 1)
	p := service.MustPayByCard(t, o.ID, "pm_card_visa")
	messages := s.Count(t, `SELECT count(*) FROM processed_message`)
	e2e.Eventually(t, "the world outside has what will be lost", func() bool {
		if s.Count(t, `SELECT count(*) FROM processed_message`) == messages {
			c.restock()
		}
		return s.Count(t, `SELECT count(*) FROM payment p, outbox e WHERE p.id = $1 AND p.status = 'captured'
			AND e.aggregate = 'order/' || p.order_id AND e.published_at IS NOT NULL`, p.ID) > 0 &&
			s.Count(t, `SELECT count(*) FROM processed_message`) > messages
	})
}

// beginTimeline makes a backup recover as from an archive that has no more WAL.
func beginTimeline(t testing.TB, backup string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(backup, "recovery.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	settings, err := os.OpenFile(filepath.Join(backup, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(settings, "restore_command = 'false'")
	if closed := settings.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
}

// restore starts the server on a backup instead of its data.
func (s *System) restore(t testing.TB, backup string) {
	t.Helper()
	data := s.Server.DataDir()
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(backup, data); err != nil {
		t.Fatal(err)
	}
	s.restartServer(t)
}
