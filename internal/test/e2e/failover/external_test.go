package failover_test

import (
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
	waiting := servers.AwaitCommit(t)
	if n := s.Count(t, shown); n != 1 {
		t.Errorf("the slot shows %d events while a COMMIT waits for the standby, want 1", n)
	}
	s.Exec(t, "SELECT pg_cancel_backend($1)", waiting)
	if r := e2e.Receive(t, reply, "the credit is answered"); r.Verdict() != "503 outcome_unknown" {
		t.Errorf("POST: %s, want 503 outcome_unknown", r.Verdict())
	}
	if n := s.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL"); n != 1 {
		t.Fatalf("%d unpublished events are visible, want 1", n)
	}
	servers.AwaitCommit(t) // the relay waits for the standby

	if n := s.Count(t, shown); n != 1 {
		t.Errorf("the slot shows %d events that the standby may lack, want 1", n)
	}
}
