package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// fixture is a replica with everything that it can be connected to.
type fixture struct {
	*e2e.Service
	admin    string
	broker   *devbroker.Broker
	provider *e2e.CardProvider
	// undo undoes the last move after the metrics were read.
	undo func()
}

// start starts a replica that reconciles a mismatch, and whose first attempt to fetch the
// issuer's keys fails. It has few connections and one lane, so that commands wait for one
// another.
func start(t testing.TB) *fixture {
	t.Helper()
	env := e2e.NewEnv(t)
	env.Exec(t, `INSERT INTO balance (customer_id, currency, amount) VALUES ('nobody', 'RUB', 4)`)
	var asked atomic.Bool
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asked.Swap(true) {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		env.Issuer.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(issuer.Close)
	f := &fixture{admin: e2e.FreeAddr(t), broker: natstest.New(t), provider: e2e.StartCardProvider(t, pgtest.New(t))}
	settings := append(e2e.CardSettings(f.provider.URL), "ORDERS_NATS_URL="+f.broker.URL(), "ORDERS_ADMIN_ADDR="+f.admin,
		env.DatabaseSetting(t, "pool_max_conns", "5"), "ORDERS_COMMAND_LANES=1",
		"ORDERS_DATABASE_STANDBY_URL="+env.ServiceURL(t), "ORDERS_DATABASE_STANDBY_STALENESS=1m", // which is a primary
		"ORDERS_IDEMPOTENCY_WAIT=300ms", "ORDERS_REQUESTS_PER_MINUTE=200",
		"ORDERS_JWKS_URL="+issuer.URL+"/.well-known/jwks.json")
	f.Service = env.ServiceOf(env.StartProcess(t, e2e.BuildOrders(t), settings...))
	f.PutProduct(t, "tea", 1000)
	f.Credit(t, "ann", "1.00")
	return f
}

// inBackground sends a call, and returns what waits for its response.
func (f *fixture) inBackground(t testing.TB, calls ...e2e.Call) (wait func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.SendAllTogether(t, calls)
	}()
	return func() { <-done }
}

// lockBalance locks the balance of a customer until release is called.
func (f *fixture) lockBalance(t testing.TB, customer string) e2e.RowLock {
	t.Helper()
	return f.LockRows(t, "SELECT FROM balance WHERE customer_id = $1 FOR UPDATE", customer)
}

// insertJob adds a job in a state, created an hour ago and due in an hour.
func (f *fixture) insertJob(t testing.TB, kind, state string) {
	t.Helper()
	f.Exec(t, `INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state, created_at, scheduled_at, finalized_at)
		VALUES ($1, '{}', 2, 1, 'default', $2::text::river.river_job_state, now() - interval '1 hour',
		        CASE $2 WHEN 'available' THEN now() ELSE now() + interval '1 hour' END,
		        CASE $2 WHEN 'discarded' THEN now() END)`, kind, state)
}

// insertRecord adds a record that expires after an interval.
func (f *fixture) insertRecord(t testing.TB, key, expires string) {
	t.Helper()
	f.Exec(t, `INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
		VALUES ('nobody', $1, '', 'creditBalance', 201, '', '', '', now() - interval '3 days', now() + $2::text::interval)`, key, expires)
}

// alterService changes what the service's role may do in the database of the test, for new
// connections, and ends those that are open.
func (f *fixture) alterService(t testing.TB, change string) {
	t.Helper()
	f.Exec(t, fmt.Sprintf(`DO $$ BEGIN EXECUTE format('%s', current_database()); END $$`, change))
	f.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND datname = current_database()`,
		pgtest.ServiceRole)
}

// scraped is what Prometheus reads from a process.
type scraped struct {
	text string
	// values are the samples by series, as they are written: name{label="value"}.
	values map[string]float64
	// families are the families of the service.
	families map[string]bool
}

// scrape reads the metrics of a process. It must be complete: what cannot be read is no
// reason for an error.
func scrape(t testing.TB, adminAddr string) scraped {
	t.Helper()
	status, text := e2e.Fetch(t, "http://"+adminAddr+"/metrics")
	if status != http.StatusOK || !strings.Contains(text, "process_open_fds ") {
		t.Fatalf("metrics: status %d: %s", status, text)
	}
	s := scraped{text: text, values: map[string]float64{}, families: map[string]bool{}}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "# TYPE orders_"):
			s.families[fields[2]] = true
		case strings.HasPrefix(line, "orders_"):
			space := strings.LastIndex(line, " ") // labels may have spaces
			number, err := strconv.ParseFloat(strings.TrimSpace(line[space:]), 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			s.values[line[:space]] = number
		}
	}
	return s
}

// value returns the value of a series. A name without labels is the sum of its series.
func (s scraped) value(series string) (sum float64, present bool) {
	for name, value := range s.values {
		if name == series || strings.HasPrefix(name, series+"{") {
			sum, present = sum+value, true
		}
	}
	return sum, present
}

var suffixes = regexp.MustCompile(`_(bucket|sum|count)$`)

// family returns the family of a series.
func (s scraped) family(series string) string {
	name, _, _ := strings.Cut(series, "{")
	if !s.families[name] {
		name = suffixes.ReplaceAllString(name, "")
	}
	return name
}
