// Package failover_test tests what clients may rely on when the primary database is lost.
// It runs the service on a real primary with a real standby.
package failover_test

import (
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
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
