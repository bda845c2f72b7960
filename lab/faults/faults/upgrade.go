package faults

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// upgradeFaults replace the service while it works.
var upgradeFaults = []Fault{
	{
		Name: "upgrade", Number: "F16", Needs: world.Needs{Next: []world.Migration{{Up: nextUp, Down: nextDown}}},
		Strike: upgrade,
		Proof: []string{
			"starts refused on an old schema", "migrations under load", "keys decided by both versions", "replicas replaced",
		},
	},
}

// The next version's migration. Like every migration, it keeps everything that the
// previous version needs. It locks one table of the service: with two, it could
// deadlock with a command.
const (
	nextUp = `ALTER TABLE orders ADD COLUMN fault_run text NOT NULL DEFAULT '';
CREATE TABLE fault_run (id bigint PRIMARY KEY);
`
	nextDown = `DROP TABLE fault_run;
ALTER TABLE orders DROP COLUMN fault_run;
`
)

// upgrade migrates, replaces the replicas one by one, and goes all the way back. The
// next version is this one with one more migration.
func upgrade(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	before, next := l.Replicas[0].Binary, l.Next
	wantStartRefused(t, l, next)
	migrate(t, l, next, "up")
	replaceEach(t, l, next)
	replaceEach(t, l, before)
	migrate(t, l, next, "down")
	wantStartRefused(t, l, next)
}

// wantStartRefused checks that a version does not start on an older schema.
func wantStartRefused(t testing.TB, l *clients.Load, binary string) {
	t.Helper()
	serve := exec.CommandContext(t.Context(), binary, "serve")
	serve.Env = l.Environ(t)
	out, err := serve.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "schema") {
		t.Errorf("the next version on the schema of this one: %v: %s", err, out)
	}
	l.Counters.Add("starts refused on an old schema", 1)
}

// migrate runs `orders migrate` while the clients work.
func migrate(t testing.TB, l *clients.Load, binary, direction string) {
	t.Helper()
	migrate := exec.CommandContext(t.Context(), binary, "migrate", direction)
	migrate.Env = l.OwnerEnviron(t)
	if out, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", migrate, err, out)
	}
	l.Counters.Add("migrations under load", 1)
	l.AwaitAttempts(t, clients.Pause)
	for _, r := range l.Replicas {
		if !r.IsReady() {
			t.Errorf("replica %d is not ready after migrate %s", r.Number, direction)
		}
	}
}

// replaceEach replaces the replicas one after the other. Meanwhile both versions decide
// the same keys.
func replaceEach(t testing.TB, l *clients.Load, binary string) {
	t.Helper()
	for _, r := range l.Replicas {
		call := l.CreditCall(t, l.UniqueName("bystander"), "1.00")
		l.WantCredited(t, l.Other(r), call)
		r.Process.WantEnd(t, r.Process.Terminate(t), e2e.Patience)
		r.Binary = binary
		r.Start(t)
		for _, to := range l.Replicas {
			l.WantCredited(t, to, call)
		}
		l.Counters.Add("keys decided by both versions", 1)
		l.Counters.Add("replicas replaced", 1)
		l.AwaitAttempts(t, clients.Pause)
	}
}
