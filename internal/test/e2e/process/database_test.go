package process_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// A service that reaches a standby, perhaps an old primary behind a virtual address, can
// read and not write.
func TestService_OnStandbyIsUnavailableAndNotReady(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	env := e2e.NewEnv(t)
	env.DatabaseURL = servers.URL()
	env.Connect(t)
	commands := prepareEveryRoute(t, env.StartReplica(t))
	awaitReplay(t, env, servers.StandbyURL())
	wantReadsOnly(t, env.StartReplica(t, "ORDERS_DATABASE_URL="+pgtest.AsService(t, servers.StandbyURL())), commands)
}

func TestService_WithReadOnlyTransactionsIsUnavailableAndNotReady(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	commands := prepareEveryRoute(t, env.StartReplica(t))
	readOnly := env.DatabaseSetting(t, "default_transaction_read_only", "on")
	wantReadsOnly(t, env.StartReplica(t, readOnly), commands)
}

// prepareEveryRoute returns a command of each guarded route.
func prepareEveryRoute(t *testing.T, s *e2e.Service) []e2e.Command {
	t.Helper()
	var commands []e2e.Command
	for _, route := range e2e.GuardedRoutes() {
		commands = append(commands, s.Prepare(t, route))
	}
	return commands
}

// awaitReplay waits until a standby has what the primary has.
func awaitReplay(t *testing.T, env *e2e.Env, standbyURL string) {
	t.Helper()
	standby, err := pgxpool.New(t.Context(), standbyURL)
	if err != nil {
		t.Fatal(err)
	}
	defer standby.Close()
	var position string
	if err := env.DB.QueryRow(t.Context(), "SELECT pg_current_wal_lsn()::text").Scan(&position); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, "the standby has what the primary has", func() (replayed bool) {
		row := standby.QueryRow(t.Context(), "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", position)
		return row.Scan(&replayed) == nil && replayed
	})
}

// wantReadsOnly checks that a replica refuses commands so that clients and load balancers
// try elsewhere, and that it answers what it can.
func wantReadsOnly(t *testing.T, s *e2e.Service, commands []e2e.Command) {
	t.Helper()
	for _, c := range commands {
		key := s.NewKey()
		if r := s.Send(t, c.WithKey(key)); r.Verdict() != "503 unavailable" {
			t.Errorf("%s: %s, want 503 unavailable", c.Operation.ID, r.Verdict())
		}
		c.WantKeyFree(t, key) // on the primary
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
	s := env.StartReplica(t, env.DatabaseSetting(t, "pool_max_conns", "4"))
	reads := prepareEveryRead(t, s)
	calls := make([]e2e.Call, commands)
	for i := range calls {
		calls[i] = env.CreditCall(t, e2e.Alice, "1.00")
	}
	servers.SetSynchronous(t, true)
	servers.StopStandby()
	replies := make(chan e2e.Reply, commands)
	var all sync.WaitGroup
	for _, call := range calls {
		all.Go(func() { replies <- s.Send(t, call) })
	}
	servers.AwaitCommit(t)

	for _, read := range reads {
		if r := s.Send(t, read.Call); r.Status != read.Status {
			t.Errorf("%s: %s, want %d", read.Operation.ID, r.Verdict(), read.Status)
		}
	}
	if len(replies) > 0 {
		t.Errorf("a command has ended before the reads: %s", (<-replies).Verdict())
	}
	all.Wait()
	close(replies)
	for r := range replies {
		if v := r.Verdict(); v != "503 outcome_unknown" && v != "503 unavailable" {
			t.Errorf("a command: %s", v)
		}
	}
	servers.StartStandby(t)
	for _, call := range calls { // each key resolves what became of its command
		e2e.Want[e2e.Transaction](t, s, http.StatusCreated, call)
	}
	if n := env.Count(t, "SELECT count(*) FROM ledger_entry WHERE customer_id = $1", e2e.Alice); n != commands {
		t.Errorf("%d ledger entries, want %d", n, commands)
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
