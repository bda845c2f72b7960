package failover_test

import (
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// What a receiver has seen is in the database after a failover, and what the database has
// reaches the receiver.
func TestWebhooks_SendWhatAFailoverKeeps(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	s := env.StartReplica(t, e2e.PrivateWebhooks)
	s.Run(t)
	receiver := e2e.StartReceiver(t)
	receiver.Register(t, s, s.AdminToken(t), true)
	s.Credit(t, e2e.Alice, "1.00")
	delivered := func(n int) func() bool {
		return func() bool {
			return s.Count(t, "SELECT count(*) FROM webhook_delivery WHERE status = 'delivered'") == n
		}
	}
	e2e.Eventually(t, "the first event is delivered", delivered(1))

	servers.StopStandby()
	lost := s.CreditCall(t, e2e.Alice, "5.00")
	reply := sendInBackground(t, s, lost)
	e2e.Eventually(t, "the primary has an event that the standby does not have", func() bool {
		s.Exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") // jobs wait as well
		return s.Count(t, "SELECT count(*) FROM outbox") == 2
	})
	e2e.Receive(t, reply, "the credit is answered")
	servers.Promote(t)
	s.Connect(t)
	if n := s.Count(t, "SELECT count(*) FROM outbox"); n != 1 {
		t.Fatalf("%d events after the failover, want 1", n)
	}
	if r := sendPatiently(t, s, s.CreditCall(t, e2e.Alice, "7.00")); r.Status != http.StatusCreated {
		t.Fatalf("after the failover: %s", r.Verdict())
	}

	e2e.Eventually(t, "the event after the failover is delivered", delivered(2))
	got := receiver.Events()
	for _, e := range got {
		if n := s.Count(t, "SELECT count(*) FROM outbox WHERE event_id::text = $1", e.ID); n != 1 {
			t.Errorf("the receiver has %s %s, which the database has lost", e.Type, e.Data)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d events have arrived, want 2", len(got))
	}
}
