package failover_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
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
	restock := order.Restock{SKU: "tea", Quantity: 5, Source: "warehouse", MessageID: "message-1"}

	servers.StopStandby()
	processed := make(chan error, 1)
	go func() { processed <- orders.Restock(t.Context(), restock) }()
	env.Exec(t, "SELECT pg_terminate_backend($1)", servers.AwaitCommit(t))
	if err := e2e.Receive(t, processed, "the message is processed"); !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Errorf("the first delivery: %v, want that the outcome is unknown", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := orders.Restock(ctx, restock); !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Errorf("the second delivery: %v, want that the outcome is unknown", err)
	}

	servers.Promote(t)
	e2e.Eventually(t, "the message is processed", func() bool {
		return errors.Is(orders.Restock(t.Context(), restock), order.ErrRestockedBefore)
	})
	env.Connect(t)
	if n := env.Count(t, "SELECT on_hand FROM product WHERE sku = 'tea'"); n != 15 {
		t.Errorf("%d on hand after the failover, want 15", n)
	}
}
