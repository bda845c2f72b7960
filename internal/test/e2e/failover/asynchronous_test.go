package failover_test

import (
	"testing"

	"example.com/orders/internal/test/e2e"
)

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
