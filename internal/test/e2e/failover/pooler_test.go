package failover_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
)

// pooledServers are the servers of a cluster as a service sees them: the first one behind
// pgbouncer, which keeps the connections of its clients when its server changes.
type pooledServers struct {
	behind, beside *pgtest.Endpoint
	url            string
	settings       []string
}

func newPooledServers(t *testing.T, env *e2e.Env, servers *pgtest.Replicated) pooledServers {
	t.Helper()
	p := pooledServers{behind: pgtest.NewEndpoint(t), beside: pgtest.NewEndpoint(t)}
	p.behind.LeadTo(t, servers.PrimaryURL())
	p.beside.LeadTo(t, servers.StandbyURL())
	both, err := url.Parse(pgbouncertest.Start(t, pgtest.Through(t, env.ServiceURL(t), p.behind), 8))
	if err != nil {
		t.Fatal(err)
	}
	second, err := url.Parse(pgtest.Through(t, env.ServiceURL(t), p.beside))
	if err != nil {
		t.Fatal(err)
	}
	both.Host += "," + second.Host
	p.url = both.String()
	p.settings = []string{"ORDERS_DATABASE_URL=" + p.url, "ORDERS_DATABASE_POOLER=transaction"}
	return p
}

// The standby has stopped to replay, so that its answers would be wrong.
func TestService_LeavesADemotedServerBehindAPooler(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, false)
	pooled := newPooledServers(t, env, servers)
	replicas := make([]*e2e.Service, 5)
	for i := range replicas {
		replicas[i] = env.StartReplica(t, pooled.settings...)
		replicas[i].MustSend(t, env.CreditCall(t, e2e.Alice, "1.00")) // opens a connection
	}
	replicas[0].PutProduct(t, "tea", 10)
	pauseReplay(t, servers)
	unpaid := replicas[0].MustCreateOrder(t, e2e.Alice, "tea", 3)
	credit := env.CreditCall(t, e2e.Alice, "5.00")
	created := replicas[0].MustSend(t, credit)
	commands := make([]e2e.Call, 20) // some run alone, others share a transaction
	for i := range commands {
		commands[i] = env.CreditCall(t, e2e.Mallory, "5.00")
	}

	pooled.behind.LeadTo(t, servers.StandbyURL())
	pooled.beside.LeadTo(t, servers.PrimaryURL())
	if r := replicas[1].Send(t, e2e.LookupCall(credit.Token, credit.Key)); r.Status != http.StatusOK {
		t.Errorf("a look-up of a key: %s", r.Verdict())
	}
	if r := replicas[2].Send(t, credit); !r.Replayed() || !r.SameAs(created) {
		t.Errorf("a retry: %s, want a replay", r.Verdict())
	}
	for _, r := range replicas[3].SendAllTogether(t, commands) {
		if r.Status != http.StatusCreated {
			t.Errorf("a new command: %s", r.Verdict())
		}
	}
	if r := replicas[4].Send(t, e2e.Get(env.Token(t, e2e.Alice, "customer"), fmt.Sprintf("/orders/%d", unpaid.ID))); r.Status != http.StatusOK {
		t.Errorf("a read: %s", r.Verdict())
	}
	for _, s := range replicas {
		e2e.Eventually(t, "the replica is ready", func() bool { return s.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusOK })
	}
}

// A job does not run again by itself: the next one finds the primary.
func TestJobs_LeaveADemotedServerBehindAPooler(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, false)
	pooled := newPooledServers(t, env, servers)
	db, err := postgres.Open(t.Context(), postgres.Config{URL: pooled.url, Pooled: true, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	clean := func() error {
		_, err := db.Keys().DeleteExpired(t.Context(), 1)
		return err
	}
	if err := clean(); err != nil {
		t.Fatal(err)
	}

	pooled.behind.LeadTo(t, servers.StandbyURL())
	pooled.beside.LeadTo(t, servers.PrimaryURL())
	if err := clean(); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("the first job: %v, want that the database is unavailable", err)
	}
	if err := clean(); err != nil {
		t.Errorf("the next job: %v", err)
	}
}

// pauseReplay makes the standby keep what it has.
func pauseReplay(t *testing.T, servers *pgtest.Replicated) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), servers.StandbyURL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // it has said what it had to say
	if _, err := conn.Exec(t.Context(), "SELECT pg_wal_replay_pause()"); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, "the standby has stopped to replay", func() bool {
		var state string
		err := conn.QueryRow(t.Context(), "SELECT pg_get_wal_replay_pause_state()").Scan(&state)
		return err == nil && state == "paused"
	})
}

// A pooler reports the loss of its server by an error of its own.
func TestCommand_IsUnknownWhenThePoolerLosesItsServerDuringCommit(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	pooled := newPooledServers(t, env, servers)
	s := env.StartReplica(t, pooled.settings...)
	for name, lose := range map[string]func(waiting int){
		"the connection breaks": func(int) { pooled.behind.LeadTo(t, servers.PrimaryURL()) },
		"the process ends":      func(pid int) { s.Exec(t, "SELECT pg_terminate_backend($1)", pid) },
	} {
		servers.StopStandby()
		reply := sendInBackground(t, s, env.CreditCall(t, e2e.Alice, "5.00"))
		lose(servers.AwaitCommit(t))
		if r := e2e.Receive(t, reply, "the credit is answered"); r.Verdict() != "503 outcome_unknown" {
			t.Errorf("%s: %s, want 503 outcome_unknown", name, r.Verdict())
		}
		servers.StartStandby(t)
	}
}
