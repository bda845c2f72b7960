// Package failover_test tests what clients may rely on when the primary database is lost.
// It runs the service on a real primary with a real standby.
package failover_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// newEnv returns an environment on a primary with a standby.
func newEnv(t *testing.T, synchronous bool) (*e2e.Env, *pgtest.Replicated) {
	t.Helper()
	servers := pgtest.NewReplicated(t)
	servers.SetSynchronous(t, synchronous)
	env := e2e.NewEnv(t)
	env.DatabaseURL = servers.URL()
	env.Connect(t)
	return env, servers
}

// sendPatiently sends a call again, as clients do, while the response is 503.
func sendPatiently(t *testing.T, s *e2e.Service, c e2e.Call) (r e2e.Reply) {
	t.Helper()
	e2e.Eventually(t, "the service answers", func() bool {
		r = s.Send(t, c)
		return r.Status != http.StatusServiceUnavailable
	})
	return r
}

// sendInBackground sends a call and returns where its response arrives.
func sendInBackground(t *testing.T, s *e2e.Service, c e2e.Call) <-chan e2e.Reply {
	t.Helper()
	replies := make(chan e2e.Reply, 1)
	go func() {
		r, err := s.Try(t.Context(), t, c)
		if err != nil {
			t.Error(err)
		}
		replies <- r
	}()
	return replies
}

// wantNewRun checks that a call runs as new on the promoted standby, and has one effect.
// It returns the response.
func wantNewRun(t *testing.T, s *e2e.Service, c e2e.Call) e2e.Reply {
	t.Helper()
	r := sendPatiently(t, s, c)
	if r.Status != http.StatusCreated || r.Header.Get("Idempotency-Result") != "created" {
		t.Errorf("after the failover %d %v %s, want 201 created", r.Status, r.Header, r.Body)
	}
	s.Connect(t)
	if n := s.Count(t, "SELECT count(*) FROM ledger_entry WHERE idempotency_key = $1", c.Key); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
	return r
}

// A replica remembers records that it has replayed. The promoted standby has never had
// this one.
func TestReplay_ComesFromNoMemoryOfALostDatabase(t *testing.T) {
	t.Parallel()
	for name, connections := range map[string]string{ // a parameter of the database URL
		"of a replica whose connections broke":            "application_name=orders",
		"of a replica that closed its connections before": "pool_max_conn_idle_time=1ms&pool_health_check_period=1ms",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, servers := newEnv(t, false)
			setting := "ORDERS_DATABASE_URL=" + env.ServiceURL(t) + "&" + connections
			first, other := env.StartReplica(t, setting), env.StartReplica(t, setting)
			servers.StopStandby()
			credit := env.CreditCall(t, e2e.Alice, "5.00")
			first.MustSend(t, credit)
			for range 2 { // the first request tells which server it is
				if r := other.MustSend(t, credit); !r.Replayed() {
					t.Fatalf("the other replica did not replay: %v", r.Header)
				}
			}

			servers.Promote(t)
			created := wantNewRun(t, other, credit)
			if r := sendPatiently(t, first, credit); !r.Replayed() || !r.SameAs(created) {
				t.Errorf("the first replica: %d %v %s\nwant a replay of %s", r.Status, r.Header, r.Body, created.Body)
			}
		})
	}
}

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

// A replica whose URL names a standby alone waits, serves nothing, and says why. It works
// after a promotion.
func TestService_OnAStandbyWaitsForAPromotion(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	admin := e2e.FreeAddr(t)
	p := env.StartWaiting(t, e2e.BuildOrders(t), "ORDERS_ADMIN_ADDR="+admin,
		"ORDERS_DATABASE_URL="+pgtest.AsService(t, servers.StandbyURL()))
	var cause string
	e2e.Eventually(t, "the process waits", func() bool {
		if !p.IsOK("/health/live") {
			return false
		}
		_, cause = e2e.Fetch(t, "http://"+admin+"/health/ready")
		return strings.Contains(cause, "waiting for the database")
	})
	if want := "ORDERS_DATABASE_URL leads to a standby: name the primary, or all servers"; !strings.Contains(cause, want) {
		t.Fatalf("operators read %s, want %q", cause, want)
	}
	s := env.ServiceOf(p)
	credit := s.CreditCall(t, e2e.Alice, "5.00")
	s.WantProblem(t, http.StatusServiceUnavailable, "unavailable", e2e.Get(s.SellerToken(t), "/orders"))
	s.WantProblem(t, http.StatusServiceUnavailable, "unavailable", credit)

	servers.Promote(t)
	p.AwaitReady(t)
	wantNewRun(t, s, credit)
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
