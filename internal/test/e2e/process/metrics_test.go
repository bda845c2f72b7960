package process_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/test/e2e"
)

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

// One replica reconciles, and each reports what it found.
func TestMetrics_ReportReconciliationOnEveryReplica(t *testing.T) {
	t.Parallel()
	binary, env := e2e.BuildOrders(t), e2e.NewEnv(t)
	env.Exec(t, `INSERT INTO balance (customer_id, currency, amount) VALUES ('nobody', 'RUB', 4)`)
	for range 2 {
		admin := e2e.FreeAddr(t)
		env.StartProcess(t, binary, "ORDERS_ADMIN_ADDR="+admin)
		awaitMetric(t, admin, "orders_reconciliation_mismatches 1")
	}
}
