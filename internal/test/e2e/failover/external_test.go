package failover_test

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// startExternal starts a replica of which another program publishes the events, by the
// publication that docs/operate.md creates and the slot debezium.
func startExternal(t *testing.T, env *e2e.Env) *e2e.Service {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	env.Exec(t, string(regexp.MustCompile("CREATE PUBLICATION [^`]*").Find(page)))
	env.Exec(t, "SELECT pg_create_logical_replication_slot('debezium', 'pgoutput')")
	s := env.StartReplica(t, "ORDERS_OUTBOX=external")
	s.Run(t)
	return s
}

// awaitCommitOf waits until a COMMIT that wrote to one of the tables waits for the standby,
// and returns the server process. COMMITs of background jobs wait as well.
func awaitCommitOf(t *testing.T, s *e2e.Service, tables ...string) (pid int) {
	t.Helper()
	e2e.Eventually(t, fmt.Sprintf("a COMMIT that wrote to %v waits for the standby", tables), func() bool {
		pid = s.Count(t, `SELECT coalesce(max(a.pid), 0) FROM pg_stat_activity a JOIN pg_locks l USING (pid)
			WHERE a.wait_event = 'SyncRep' AND l.relation = ANY($1::text[]::regclass[]) AND l.mode = 'RowExclusiveLock'`, tables)
		return pid > 0
	})
	return pid
}

// Logical decoding does not wait for a synchronous standby.
func TestOutbox_ThatIsExternalShowsNoEventThatAFailoverLoses(t *testing.T) {
	t.Parallel()
	const shown = `SELECT count(*) FROM pg_logical_slot_peek_binary_changes('debezium', NULL, NULL,
		'proto_version', '1', 'publication_names', 'orders_events') c WHERE position('balance/alice'::bytea IN c.data) > 0`
	env, servers := newEnv(t, true)
	s := startExternal(t, env)
	s.Credit(t, e2e.Alice, "1.00")
	e2e.Eventually(t, "the slot shows the event", func() bool {
		return s.Count(t, shown) == 1 && s.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})

	servers.StopStandby()
	reply := sendInBackground(t, s, s.CreditCall(t, e2e.Alice, "5.00"))
	waiting := awaitCommitOf(t, s, "ledger_entry")
	if n := s.Count(t, shown); n != 1 {
		t.Errorf("the slot shows %d events while a COMMIT waits for the standby, want 1", n)
	}
	s.Exec(t, "SELECT pg_cancel_backend($1)", waiting)
	if r := e2e.Receive(t, reply, "the credit is answered"); r.Verdict() != "503 outcome_unknown" {
		t.Errorf("POST: %s, want 503 outcome_unknown", r.Verdict())
	}
	e2e.Eventually(t, "the event is visible and unpublished", func() bool {
		return s.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 1
	})
	awaitCommitOf(t, s, "outbox", "relay_lease") // of the relay

	if n := s.Count(t, shown); n != 1 {
		t.Errorf("the slot shows %d events that the standby may lack, want 1", n)
	}
}
