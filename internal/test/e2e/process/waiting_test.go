package process_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// wantWaiting checks that a process lives without its database, and says why it is not
// ready to operators only.
func wantWaiting(t *testing.T, p *e2e.Process, admin, cause string) {
	t.Helper()
	e2e.Eventually(t, "the process lives", func() bool { return p.IsOK("/health/live") })
	if status, body := e2e.Fetch(t, p.URL+"/health/ready"); status != http.StatusServiceUnavailable || strings.Contains(body, cause) {
		t.Errorf("readiness: status %d: %s", status, body)
	}
	status, body := e2e.Fetch(t, "http://"+admin+"/health/ready")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "waiting for the database") || !strings.Contains(body, cause) {
		t.Errorf("readiness for operators: status %d, want 503 with %q: %s", status, cause, body)
	}
	if line := lineAbout(t, p, "waiting for the database"); !strings.Contains(line["error"].(string), cause) {
		t.Errorf("the line is %v, want the cause %q", line, cause)
	}
}

func TestServe_WaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	env, admin, endpoint := e2e.NewEnv(t), e2e.FreeAddr(t), pgtest.NewEndpoint(t)
	address := pgtest.Through(t, env.ServiceURL(t), endpoint)
	endpoint.Refuse()
	p := env.StartWaiting(t, e2e.BuildOrders(t), "ORDERS_ADMIN_ADDR="+admin, "ORDERS_DATABASE_URL="+address)
	s := env.ServiceOf(p)
	wantWaiting(t, p, admin, "failed to connect")
	credit := s.CreditCall(t, e2e.Alice, "1.00")
	s.WantProblem(t, http.StatusServiceUnavailable, "unavailable", credit)

	endpoint.LeadTo(t, env.ServiceURL(t))

	p.AwaitReady(t)
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, credit)
	lineAbout(t, p, "database reached")
	e2e.Eventually(t, "the jobs run", func() bool { return env.Count(t, "SELECT count(*) FROM river.river_leader") == 1 })
}

// A process that waits stops like any other.
func TestServe_StopsWhileItWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	env, admin := e2e.NewEnv(t), e2e.FreeAddr(t)
	p := env.StartWaiting(t, e2e.BuildOrders(t), "ORDERS_ADMIN_ADDR="+admin,
		"ORDERS_DATABASE_URL=postgres://orders:hunter2@127.0.0.1:1/orders")
	wantWaiting(t, p, admin, "failed to connect")

	p.WantEnd(t, p.Terminate(t), e2e.Patience)

	if strings.Contains(p.Log(), "hunter2") {
		t.Errorf("the password is in the log: %s", p.Log())
	}
}
