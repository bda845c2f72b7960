package process_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// A service that reaches a standby, perhaps an old primary behind a virtual address, can
// read and not write.
func TestService_WithReadOnlyTransactionsIsUnavailableAndNotReady(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	primary := env.StartReplica(t)
	s := env.StartReplica(t, env.DatabaseSetting(t, "default_transaction_read_only", "on"))
	for _, route := range e2e.GuardedRoutes() {
		c, key := primary.Prepare(t, route), s.NewKey()
		if r := s.Send(t, c.WithKey(key)); r.Verdict() != "503 unavailable" {
			t.Errorf("%s: %s, want 503 unavailable", c.Operation.ID, r.Verdict())
		}
		c.WantKeyFree(t, key)
	}
	if r := s.Send(t, e2e.Get("", "/health/ready")); r.Verdict() != "503 unavailable" {
		t.Errorf("readiness: %s, want 503 unavailable", r.Verdict())
	}
	if r := s.Send(t, e2e.Get(s.SellerToken(t), "/orders")); r.Status != http.StatusOK {
		t.Errorf("a read: %s", r.Verdict())
	}
}

// COMMIT waits for a standby that is gone, as long as its client waits. More commands than
// the pool has connections do so here, and everything that only reads must go on.
func TestReads_GoOnWhileCommandsWaitForTheStandby(t *testing.T) {
	t.Parallel()
	const commands = 12
	servers := pgtest.NewReplicated(t)
	env := e2e.NewEnv(t)
	env.DatabaseURL = servers.URL()
	env.Connect(t)
	s := env.StartReplica(t, env.DatabaseSetting(t, "pool_max_conns", "4"), "ORDERS_COMMAND_LANES=0") // each has a transaction
	reads := prepareEveryRead(t, s)
	calls := make([]e2e.Call, commands)
	for i := range calls {
		calls[i] = env.CreditCall(t, env.UniqueName("customer"), "1.00").WithToken(env.Token(t, env.UniqueName("bank"), "system"))
	}
	servers.SetSynchronous(t, true)
	servers.StopStandby()
	replies := make(chan e2e.Reply, commands)
	var all sync.WaitGroup
	for _, call := range calls {
		all.Go(func() { replies <- s.Send(t, call) })
	}
	e2e.Eventually(t, "COMMITs wait for the standby", func() bool {
		return env.Count(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") >= 2
	})

	for _, read := range reads {
		if r := s.Send(t, read.Call); r.Status != read.Status {
			t.Errorf("%s: %s, want %d", read.Operation.ID, r.Verdict(), read.Status)
		}
	}
	if len(replies) > 0 {
		t.Errorf("a command has ended before the reads: %s", (<-replies).Verdict())
	}
	servers.StartStandby(t)
	all.Wait()
	close(replies)
	for r := range replies {
		if v := r.Verdict(); v != "201" && v != "503 outcome_unknown" && v != "503 unavailable" {
			t.Errorf("a command: %s", v)
		}
	}
}

// prepareEveryRead returns a request of each route that only reads. Two are not among them:
// what is known of a key waits for the standby, as a replay does, and a read of the audit
// log writes an entry.
func prepareEveryRead(t *testing.T, s *e2e.Service) []e2e.Command {
	t.Helper()
	var reads []e2e.Command
	for name := range e2e.Routes {
		c := s.Prepare(t, name)
		if c.Call.Method == http.MethodGet && !slices.Contains([]string{"getIdempotencyKey", "listAuditLog"}, c.Operation.ID) {
			c.Call.Token = s.Token(t, c.Customer, "customer") // whose reads leave no audit entry
			reads = append(reads, c)
		}
	}
	return reads
}
