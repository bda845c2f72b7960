package failover_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
)

// pgbouncer keeps the connections of its clients when its server changes. The standby has
// stopped to replay, so that its answers would be wrong.
func TestService_LeavesADemotedServerBehindAPooler(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, false)
	behind, beside := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	behind.LeadTo(t, servers.PrimaryURL())
	beside.LeadTo(t, servers.StandbyURL())
	pooler := pgbouncertest.Start(t, pgtest.Through(t, env.ServiceURL(t), behind), 8)
	replicas := make([]*e2e.Service, 4)
	for i := range replicas {
		replicas[i] = env.StartReplica(t, "ORDERS_DATABASE_POOLER=transaction",
			"ORDERS_DATABASE_URL="+withHost(t, pooler, pgtest.Through(t, env.ServiceURL(t), beside)))
		replicas[i].MustSend(t, env.CreditCall(t, e2e.Alice, "1.00")) // opens a connection
	}
	replicas[0].PutProduct(t, "tea", 10)
	pauseReplay(t, servers)
	unpaid := replicas[0].MustCreateOrder(t, e2e.Alice, "tea", 3)
	credit := env.CreditCall(t, e2e.Alice, "5.00")
	created := replicas[0].MustSend(t, credit)

	behind.LeadTo(t, servers.StandbyURL())
	beside.LeadTo(t, servers.PrimaryURL())

	if r := replicas[0].Send(t, e2e.LookupCall(credit.Token, credit.Key)); r.Status != http.StatusOK {
		t.Errorf("a look-up of a key: %s", r.Verdict())
	}
	if r := replicas[1].Send(t, credit); !r.Replayed() || !r.SameAs(created) {
		t.Errorf("a retry: %s, want a replay", r.Verdict())
	}
	if r := replicas[2].Send(t, env.CreditCall(t, e2e.Mallory, "5.00")); r.Status != http.StatusCreated {
		t.Errorf("a new command: %s", r.Verdict())
	}
	if r := replicas[3].Send(t, e2e.Get(env.CustomerToken(t), fmt.Sprintf("/orders/%d", unpaid.ID))); r.Status != http.StatusOK {
		t.Errorf("a read: %s", r.Verdict())
	}
	for _, s := range replicas {
		e2e.Eventually(t, "the replica is ready", func() bool { return s.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusOK })
	}
}

// withHost returns a database URL that also has the host of another.
func withHost(t *testing.T, databaseURL, other string) string {
	t.Helper()
	both, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	second, err := url.Parse(other)
	if err != nil {
		t.Fatal(err)
	}
	both.Host += "," + second.Host
	return both.String()
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
