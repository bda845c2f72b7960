package failover_test

import (
	"net/http"
	"strings"
	"testing"

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
