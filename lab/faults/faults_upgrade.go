package faults

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/migrations"
)

// upgradeFaults replace the service while it works.
var upgradeFaults = []Fault{
	{
		Name: "upgrade", Number: "F16", Needs: Needs{Next: true},
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
func upgrade(t testing.TB, s *System, _ *rand.Rand) {
	t.Helper()
	before, next := s.Replicas[0].binary, s.Next
	s.wantStartRefused(t, next)
	s.migrate(t, next, "up")
	s.replaceEach(t, next)
	s.replaceEach(t, before)
	s.migrate(t, next, "down")
	s.wantStartRefused(t, next)
}

// nextMigration returns the next version's additions.
func nextMigration(t testing.TB) map[string]string {
	t.Helper()
	newest, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("%04d_fault_run", newest+1)
	return map[string]string{name + ".up.sql": nextUp, name + ".down.sql": nextDown}
}

// wantStartRefused checks that a version does not start on an older schema.
func (s *System) wantStartRefused(t testing.TB, binary string) {
	t.Helper()
	serve := exec.CommandContext(t.Context(), binary, "serve")
	serve.Env = s.Environ(t)
	out, err := serve.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "schema") {
		t.Errorf("the next version on the schema of this one: %v: %s", err, out)
	}
	s.Counters.Add("starts refused on an old schema", 1)
}

// migrate runs `orders migrate` while the clients work.
func (s *System) migrate(t testing.TB, binary, direction string) {
	t.Helper()
	migrate := exec.CommandContext(t.Context(), binary, "migrate", direction)
	migrate.Env = s.OwnerEnviron(t)
	if out, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", migrate, err, out)
	}
	s.Counters.Add("migrations under load", 1)
	s.awaitAttempts(t, pause)
	for _, r := range s.Replicas {
		if !r.process.IsOK(ready) {
			t.Errorf("replica %d is not ready after migrate %s", r.Number, direction)
		}
	}
}

// replaceEach replaces the replicas one after the other. Meanwhile both versions decide
// the same keys.
func (s *System) replaceEach(t testing.TB, binary string) {
	t.Helper()
	for _, r := range s.Replicas {
		call := s.CreditCall(t, s.UniqueName("bystander"), "1.00")
		s.wantCredited(t, s.other(r), call)
		r.process.WantEnd(t, r.process.Terminate(t), e2e.Patience)
		r.binary = binary
		r.Start(t)
		for _, to := range s.Replicas {
			s.wantCredited(t, to, call)
		}
		s.Counters.Add("keys decided by both versions", 1)
		s.Counters.Add("replicas replaced", 1)
		s.awaitAttempts(t, pause)
	}
}
