package process_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/migrations"
)

// warning is what a process logs about a role with more privileges than it needs.
const warning = "database role may do too much"

// takePrivilege revokes what credits need.
const takePrivilege = "REVOKE INSERT ON ledger_entry FROM orders_service"

func TestServe_WarnsThatItsRoleMayDoTooMuch(t *testing.T) {
	t.Parallel()
	env, admin := e2e.NewEnv(t), e2e.FreeAddr(t)
	p := env.StartProcess(t, e2e.BuildOrders(t), "ORDERS_ADMIN_ADDR="+admin, "ORDERS_DATABASE_URL="+env.DatabaseURL)

	awaitMetric(t, admin, "orders_database_excess_privileges 1")
	line := `"role":"postgres","privileges":["SUPERUSER"]`
	if log := p.Log(); strings.Count(log, warning) != 1 || !strings.Contains(log, line) {
		t.Errorf("the log has no line with %s:\n%s", line, log)
	}
	env.ServiceOf(p).Credit(t, e2e.Alice, "1.00")
}

// After an upgrade without `orders migrate up`, or with a role outside of the group, the
// first order must not be the one that finds out.
func TestServe_RefusesARoleThatLacksPrivileges(t *testing.T) {
	t.Parallel()
	env := e2e.NewEnv(t)
	env.Exec(t, takePrivilege)
	message := errorOf(t, e2e.BuildOrders(t), env.Environ(t), "serve")
	want := `the database role "orders_app" lacks INSERT ON ledger_entry: run ` + "`orders migrate up`" +
		` as the owner of the tables, and execute GRANT "orders_service" TO "orders_app" as a superuser`
	if message != want {
		t.Errorf("the error is %s\nwant         %s", message, want)
	}
}

// Somebody who restores a dump without its privileges makes a running service useless.
func TestService_IsNotReadyWithoutItsPrivileges(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.Exec(t, takePrivilege)
	e2e.Eventually(t, "the service is not ready", func() bool {
		return s.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusServiceUnavailable
	})

	call := s.CreditCall(t, e2e.Alice, "1.00")
	r := s.WantProblem(t, http.StatusInternalServerError, "internal", call)
	for _, word := range []string{"42501", "ledger_entry", "denied"} {
		if strings.Contains(string(r.Body), word) {
			t.Errorf("the response contains %s: %s", word, r.Body)
		}
	}

	if err := migrations.Grant(t.Context(), s.DatabaseURL, "orders_service"); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, "the service is ready", func() bool {
		return s.Send(t, e2e.Get("", "/health/ready")).Status == http.StatusOK
	})
	e2e.Want[e2e.Transaction](t, s, http.StatusCreated, call) // the failed call has kept nothing
}

// awaitMetric waits until a process reports a line. Each scrape must be complete: it
// has the metrics of the process, whatever the database does.
func awaitMetric(t testing.TB, adminAddr, line string) {
	t.Helper()
	e2e.Eventually(t, line, func() bool {
		status, scraped := e2e.Fetch(t, "http://"+adminAddr+"/metrics")
		if status != http.StatusOK || !strings.Contains(scraped, "process_open_fds ") {
			t.Fatalf("metrics: status %d: %s", status, scraped)
		}
		return strings.Contains(scraped, line+"\n")
	})
}
