package failover_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	outnats "example.com/orders/internal/adapters/out/nats"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/invariants"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// A COMMIT waits for the standby, also after the service has stopped to wait for it. When
// it is interrupted, its record is visible on the primary, and the standby does not have it.
func TestGetIdempotencyKey_ReportsNothingThatAFailoverLoses(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	s := env.StartReplica(t)
	s.Credit(t, e2e.Alice, "1.00")
	credit := s.CreditCall(t, e2e.Alice, "5.00")
	lookup := e2e.LookupCall(credit.Token, credit.Key)

	servers.StopStandby()
	reply := sendInBackground(t, s, credit)
	servers.AwaitCommit(t)
	if r := s.Send(t, lookup); !strings.Contains(string(r.Body), `"state":"in_progress"`) {
		t.Errorf("GET while COMMIT waits: %s, want in_progress", r.Body)
	}
	if r := e2e.Receive(t, reply, "the credit is answered"); r.Verdict() != "503 outcome_unknown" {
		t.Errorf("POST: %s, want 503 outcome_unknown", r.Verdict())
	}
	s.WantBalance(t, e2e.Alice, "1.00")
	s.Exec(t, "SELECT pg_terminate_backend($1)", servers.AwaitCommit(t))
	e2e.Eventually(t, "the primary has a record that the standby does not have", func() bool {
		return s.Count(t, "SELECT count(*) FROM idempotency_record WHERE key = $1", credit.Key) == 1
	})
	s.WantProblem(t, http.StatusServiceUnavailable, "outcome_unknown", lookup)

	servers.Promote(t)
	if r := sendPatiently(t, s, lookup); r.Status != http.StatusNotFound {
		t.Errorf("GET after the failover: %d %s, want 404", r.Status, r.Body)
	}
	wantNewRun(t, s, credit)
	s.WantBalance(t, e2e.Alice, "6.00")
}

// A primary that was cut off goes on until it notices. Meanwhile the key may have taken
// effect on the standby, which was promoted.
func TestGetIdempotencyKey_MissesNothingThatAPromotedStandbyHas(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	s := env.StartReplica(t)
	lookup := e2e.LookupCall(s.SystemToken(t), s.NewKey())

	servers.StopStandby()
	s.WantProblem(t, http.StatusServiceUnavailable, "outcome_unknown", lookup)

	servers.StartStandby(t)
	s.WantProblem(t, http.StatusNotFound, "not_found", lookup)
}

// The server then says COMMIT, with a warning that the standby may not have it.
func TestCommand_IsUnknownWhenTheWaitForTheStandbyIsCancelled(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	s := env.StartReplica(t)
	credit := s.CreditCall(t, e2e.Alice, "5.00")

	servers.StopStandby()
	reply := sendInBackground(t, s, credit)
	s.Exec(t, "SELECT pg_cancel_backend($1)", servers.AwaitCommit(t))
	if r := e2e.Receive(t, reply, "the credit is answered"); r.Verdict() != "503 outcome_unknown" {
		t.Errorf("POST: %s, want 503 outcome_unknown", r.Verdict())
	}

	servers.Promote(t)
	wantNewRun(t, s, credit)
}

// A message that is acknowledged is never sent again.
func TestRestock_AcknowledgesNoMessageThatAFailoverLoses(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	env.StartReplica(t).PutProduct(t, "tea", 10)
	orders := e2e.OrderService(env.OpenStore(t))
	restock := order.Restock{SKU: "tea", Quantity: 5, Message: core.Message{Source: "warehouse", ID: "message-1", SentAt: time.Now()}}

	servers.StopStandby()
	processed := make(chan error, 1)
	go func() { processed <- orders.Restock(t.Context(), restock) }()
	env.Exec(t, "SELECT pg_terminate_backend($1)", servers.AwaitCommit(t))
	if err := e2e.Receive(t, processed, "the message is processed"); !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Errorf("the first delivery: %v, want that the outcome is unknown", err)
	}

	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	var second sync.WaitGroup
	second.Go(func() {
		if err := orders.Restock(ctx, restock); !errors.Is(err, core.ErrOutcomeUnknown) {
			t.Errorf("the second delivery: %v, want that the outcome is unknown", err)
		}
	})
	servers.AwaitCommit(t)
	giveUp()
	second.Wait()

	servers.Promote(t)
	e2e.Eventually(t, "the message is processed", func() bool {
		return errors.Is(orders.Restock(t.Context(), restock), order.ErrRestockedBefore)
	})
	env.Connect(t)
	if n := env.Count(t, "SELECT on_hand FROM product WHERE sku = 'tea'"); n != 15 {
		t.Errorf("%d on hand after the failover, want 15", n)
	}
}

// TestKeepCommits looks for a cancellation that comes later.
func TestCommit_IsNotCancelledWhenItsConnectionBreaks(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	link := pgtest.NewEndpoint(t)
	link.LeadTo(t, servers.PrimaryURL())
	s := env.StartReplica(t, "ORDERS_DATABASE_URL="+pgtest.Through(t, env.ServiceURL(t), link))
	s.Credit(t, e2e.Alice, "1.00")

	servers.StopStandby()
	reply := sendInBackground(t, s, s.CreditCall(t, e2e.Alice, "5.00"))
	waiting := servers.AwaitCommit(t)
	link.LeadTo(t, servers.PrimaryURL())
	if r := e2e.Receive(t, reply, "the credit is answered"); r.Verdict() != "503 outcome_unknown" {
		t.Errorf("POST: %s, want 503 outcome_unknown", r.Verdict())
	}

	s.WantBalance(t, e2e.Alice, "1.00")
	if pid := servers.AwaitCommit(t); pid != waiting {
		t.Errorf("process %d waits for the standby, want %d", pid, waiting)
	}
}

// Somebody cancels each wait, of the credit and of the relay.
func TestRelay_PublishesNothingThatAFailoverLoses(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	broker := natstest.New(t)
	s := env.StartReplica(t, "ORDERS_NATS_URL="+broker.URL())
	s.Run(t)
	s.Credit(t, e2e.Alice, "1.00")
	e2e.Eventually(t, "the first event is published", func() bool {
		return env.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NOT NULL") == 1
	})
	published := func() int { return len(natstest.Messages(t, broker, outnats.Stream)) }

	servers.StopStandby()
	credit := s.CreditCall(t, e2e.Alice, "5.00")
	reply := sendInBackground(t, s, credit)
	e2e.Eventually(t, "the credit is visible", func() bool {
		env.Exec(t, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		return env.Count(t, "SELECT count(*) FROM ledger_entry") == 2
	})
	if r := e2e.Receive(t, reply, "the credit is answered"); r.Verdict() != "503 outcome_unknown" {
		t.Errorf("POST: %s, want 503 outcome_unknown", r.Verdict())
	}
	e2e.Eventually(t, "the relay waits for the standby", func() bool {
		return published() > 1 || env.Count(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") > 0
	})
	if n := published(); n != 1 {
		t.Errorf("%d events were published, and the standby has one", n)
	}

	servers.Promote(t)
	wantNewRun(t, s, credit)
	e2e.Eventually(t, "the second event is published", func() bool { return published() >= 2 })
	wrong, err := invariants.CompareStream(t.Context(), env.DB, natstest.Messages(t, broker, outnats.Stream))
	if err != nil || len(wrong) > 0 {
		t.Errorf("the stream: %v, %v", wrong, err)
	}
}

// Each command has a transaction to itself, so that four COMMITs are in doubt.
func TestCommands_AreRefusedAtOnceWhileManyCommitsAreInDoubt(t *testing.T) {
	t.Parallel()
	env, servers := newEnv(t, true)
	s := env.StartReplica(t, "ORDERS_COMMAND_LANES=0", "ORDERS_IDEMPOTENCY_WAIT=100ms")
	credits := make([]e2e.Call, 4)
	for i := range credits {
		credits[i] = s.CreditCall(t, fmt.Sprint("customer-", i), "5.00")
	}
	lost := credits[0]

	servers.StopStandby()
	replies := make([]<-chan e2e.Reply, len(credits))
	for i, credit := range credits {
		replies[i] = sendInBackground(t, s, credit)
	}
	for _, reply := range replies {
		if r := e2e.Receive(t, reply, "a credit is answered"); r.Verdict() != "503 outcome_unknown" {
			t.Errorf("a credit: %s, want 503 outcome_unknown", r.Verdict())
		}
	}
	for n := 0; n < 20 && !t.Failed(); n++ { // a credit that is not refused takes seconds
		r := s.WantProblem(t, http.StatusServiceUnavailable, "unavailable", s.CreditCall(t, e2e.Alice, "5.00"))
		if r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if n := env.Count(t, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"); n != len(credits) {
		t.Errorf("%d COMMITs wait, want %d", n, len(credits))
	}
	s.WantBalance(t, e2e.Alice, "")
	s.WantProblem(t, http.StatusConflict, "idempotency_in_progress", lost)
	if r := s.Send(t, e2e.LookupCall(lost.Token, lost.Key)); !strings.Contains(string(r.Body), `"state":"in_progress"`) {
		t.Errorf("a look-up: %s, want in_progress", r.Body)
	}

	servers.StartStandby(t)
	for i, credit := range credits {
		e2e.Eventually(t, "the credit is replayed", func() bool { return s.Send(t, credit).Replayed() })
		s.WantBalance(t, fmt.Sprint("customer-", i), "5.00")
	}
	sendPatiently(t, s, s.CreditCall(t, e2e.Alice, "5.00"))
	s.WantBalance(t, e2e.Alice, "5.00")
}
