// Package metrics_test tests that each metric of a running service is moved by what it
// measures, and that docs/metrics.md describes what the service exports.
package metrics_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"example.com/orders/internal/adapters/in/events"
	devbroker "example.com/orders/internal/dev/broker"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestMetrics_EachIsMovedByWhatItMeasures(t *testing.T) {
	t.Parallel()
	f := start(t)
	moved := map[string]bool{}
	for _, m := range moves {
		m.run(t, f)
		after := scrape(t, f.admin)
		for series := range m.want {
			moved[after.family(series)] = true
		}
	}
	var now scraped
	e2e.Eventually(t, "the replica has recovered", func() bool {
		now = scrape(t, f.admin)
		ready, _ := now.value("orders_ready")
		up, _ := now.value("orders_database_up")
		return ready == 1 && up == 1
	})
	for family := range now.families {
		if !moved[family] {
			t.Errorf("no move moves %s", family)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, match := range regexp.MustCompile("(?m)^\\| `(orders_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, match[1])
	}
	slices.Sort(documented)
	if diff := cmp.Diff(documented, slices.Sorted(maps.Keys(now.families))); diff != "" {
		t.Errorf("docs/metrics.md describes other metrics (-documented +exported):\n%s", diff)
	}
	problems, err := promlint.New(strings.NewReader(now.text)).Lint() // the conventions of Prometheus
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// move is something that happens to a replica, and the metrics that it moves.
type move struct {
	name string
	do   func(t testing.TB, f *fixture)
	want map[string]change
}

// run makes the move and waits until all of its metrics have changed as they must.
func (m move) run(t *testing.T, f *fixture) {
	t.Helper()
	before := scrape(t, f.admin)
	f.undo = func() {}
	m.do(t, f)
	defer func() { f.undo() }()
	var missing []string
	defer func() {
		if len(missing) > 0 {
			t.Logf("%s: %s", m.name, strings.Join(missing, ", "))
		}
	}()
	e2e.Eventually(t, m.name, func() bool {
		missing = nil
		now := scrape(t, f.admin)
		for series, c := range m.want {
			was, _ := before.value(series)
			value, present := now.value(series)
			if !present || !c.holds(was, value) {
				missing = append(missing, series+" "+c.says)
			}
		}
		return len(missing) == 0
	})
}

// change is how the value of a series must change.
type change struct {
	says  string
	holds func(before, after float64) bool
}

var grows = change{"grows", func(before, after float64) bool { return after > before }}

func is(value float64) change {
	return change{fmt.Sprintf("is %v", value), func(_, after float64) bool { return after == value }}
}

const credited = `route="/customers/{customer_id}/balance/credit"`

// moves happen in this order: the last ones break what the others need.
var moves = []move{
	{"nothing", func(testing.TB, *fixture) {}, map[string]change{
		"orders_build_info":                             is(1),
		"orders_ready":                                  is(1),
		"orders_database_up":                            is(1),
		"orders_database_writable":                      is(1),
		"orders_broker_connected":                       is(1),
		"orders_provider_circuit_open":                  is(0),
		"orders_jwks_keys":                              is(1),
		"orders_jwks_age_seconds":                       grows,
		"orders_jwks_refresh_failures_total":            is(1),
		"orders_reconciliation_mismatches":              is(1),
		"orders_reconciliation_age_seconds":             grows,
		`orders_pool_connections_max{pool="requests"}`:  is(5),
		`orders_pool_connections_max{pool="jobs"}`:      is(4),
		`orders_pool_connections_max{pool="webhooks"}`:  is(4),
		`orders_pool_connections_max{pool="readiness"}`: is(8),
	}},
	{"a command", credit, map[string]change{
		`orders_http_requests_total{method="POST",` + credited + `,status="201"}`:             grows,
		`orders_http_request_duration_seconds_count{method="POST",` + credited + `}`:          grows,
		`orders_idempotency_outcomes_total{outcome="created"}`:                                grows,
		"orders_idempotency_records_stored_total":                                             grows,
		"orders_transaction_attempts_count":                                                   grows,
		`orders_pool_acquires_total{pool="requests"}`:                                         grows,
		"orders_events_published_total":                                                       grows,
		`orders_http_request_duration_seconds_bucket{method="POST",` + credited + `,le="10"}`: grows,
	}},
	{"a replay", replay, map[string]change{
		`orders_idempotency_outcomes_total{outcome="reused"}`:                     grows,
		"orders_idempotency_replay_age_seconds_count":                             grows,
		`orders_http_requests_total{method="POST",` + credited + `,status="201"}`: grows,
	}},
	{"a duplicate of a command that waits for a row", duplicate, map[string]change{
		`orders_idempotency_outcomes_total{outcome="in_progress"}`: grows,
		"orders_idempotency_wait_seconds_count":                    grows,
		"orders_idempotency_wait_seconds_sum":                      grows,
		"orders_http_requests_in_flight":                           grows,
		`orders_pool_connections{pool="requests",state="used"}`:    grows,
	}},
	{"commands that are refused", refusals, map[string]change{
		`orders_idempotency_outcomes_total{outcome="key_required"}`: grows,
		`orders_idempotency_outcomes_total{outcome="key_invalid"}`:  grows,
		`orders_idempotency_outcomes_total{outcome="key_reused"}`:   grows,
		`orders_idempotency_outcomes_total{outcome="refused"}`:      grows,
		`orders_idempotency_outcomes_total{outcome="failed"}`:       grows,
	}},
	{"a client beyond its limit", exceedLimit, map[string]change{
		`orders_limited_requests_total{limit="requests"}`: grows,
	}},
	{"a token that is refused", forgeToken, map[string]change{
		`orders_unauthenticated_requests_total{reason="opaque"}`:  grows,
		`orders_unauthenticated_requests_total{reason="expired"}`: is(0),
	}},
	{"commands that share transactions, and one of them waits", shareTransactions, map[string]change{
		"orders_command_group_size_count":    grows,
		"orders_command_queue_seconds_count": grows,
		"orders_command_groups_split_total":  grows,
	}},
	{"more readers than connections", readTogether, map[string]change{
		`orders_pool_waits_total{pool="requests"}`:        grows,
		`orders_pool_wait_seconds_total{pool="requests"}`: grows,
	}},
	{"a transaction that lost a race", loseRace, map[string]change{
		`orders_transactions_restarted_total{reason="serialization_failure"}`: grows,
		"orders_transaction_attempts_sum":                                     grows,
	}},
	{"a record that expires", expire, map[string]change{
		"orders_idempotency_expired_records": grows,
	}},
	{"a clean-up", cleanUp, map[string]change{
		`orders_rows_removed_total{kind="clean_idempotency_records"}`:               grows,
		`orders_jobs_worked_total{kind="clean_idempotency_records",outcome="done"}`: grows,
		`orders_job_duration_seconds_count{kind="clean_idempotency_records"}`:       grows,
	}},
	{"jobs that are not done", leaveJobs, map[string]change{
		`orders_jobs{kind="reconcile",state="discarded"}`:    grows,
		`orders_jobs{kind="clean_outbox",state="retryable"}`: grows,
		`orders_job_oldest_seconds{kind="clean_outbox"}`:     grows,
	}},
	{"many rows", growTable, map[string]change{
		`orders_table_bytes{table="audit_log"}`: grows,
		`orders_index_bytes{table="audit_log"}`: grows,
		`orders_table_rows{table="audit_log"}`:  grows,
	}},
	{"a card payment", payByCard, map[string]change{
		`orders_provider_requests_total{operation="charge",outcome="ok"}`:    grows,
		`orders_provider_request_duration_seconds_count{operation="charge"}`: grows,
	}},
	{"a dispute that needs an answer", dispute, map[string]change{
		"orders_dispute_answer_due_seconds": grows,
	}},
	{"a webhook without a signature", forgeWebhook, map[string]change{
		`orders_webhooks_total{outcome="unsigned"}`: grows,
	}},
	{"a webhook that is too large", sendLargeWebhook, map[string]change{
		`orders_webhooks_total{outcome="too_large"}`: grows,
		`orders_webhooks_total{outcome="unsigned"}`:  is(1),
	}},
	{"a message that cannot be read", sendMessage, map[string]change{
		`orders_events_consumed_total{outcome="dead_letter"}`: grows,
	}},
	{"a webhook endpoint at an address that is refused", addEndpoint, map[string]change{
		"orders_webhook_deliveries_pending":                        is(1),
		`orders_webhook_attempts_total{outcome="refused_address"}`: grows,
		"orders_webhook_oldest_seconds":                            is(0),
	}},
	{"deliveries that are not written", lockEndpoint, map[string]change{"orders_webhook_oldest_seconds": grows}},
	{"a webhook endpoint that is disabled", disableEndpoint, map[string]change{
		"orders_webhook_endpoints_disabled": is(1),
	}},
	{"a broker that is down", stopBroker, map[string]change{
		"orders_broker_connected":            is(0),
		"orders_events_publish_failed_total": grows,
		"orders_outbox_events":               is(1),
		"orders_outbox_oldest_seconds":       grows,
	}},
	{"a card provider that is down", stopProvider, map[string]change{
		"orders_provider_circuit_open":                                        is(1),
		`orders_provider_requests_total{operation="charge",outcome="failed"}`: grows,
	}},
	{"a new key of the issuer", rotateKeys, map[string]change{
		"orders_jwks_keys": is(2),
	}},
	{"a database that is read-only", makeReadOnly, map[string]change{
		"orders_database_writable": is(0),
		"orders_database_up":       is(1),
		"orders_ready":             is(0),
	}},
	{"a database that is down", stopDatabase, map[string]change{
		"orders_database_up": is(0),
		"orders_ready":       is(0),
	}},
	{"a log reader that is gone", closeOutput, map[string]change{
		"orders_log_lines_dropped_total": grows,
	}},
}

func credit(t testing.TB, f *fixture) {
	t.Helper()
	f.Credit(t, "ann", "1.00")
}

func replay(t testing.TB, f *fixture) {
	t.Helper()
	call := f.CreditCall(t, "ann", "1.00")
	f.MustSend(t, call)
	f.MustSend(t, call)
}

func duplicate(t testing.TB, f *fixture) {
	t.Helper()
	lock := f.lockBalance(t, "ann")
	call := f.CreditCall(t, "ann", "1.00")
	wait := f.inBackground(t, call)
	lock.AwaitWaiter(t)
	f.WantProblem(t, http.StatusConflict, "idempotency_in_progress", call)
	f.undo = func() { lock.Release(); wait() }
}

func refusals(t testing.TB, f *fixture) {
	t.Helper()
	call := f.CreditCall(t, "ann", "1.00")
	f.MustSend(t, call)
	f.WantProblem(t, http.StatusConflict, "idempotency_key_reused", f.CreditCall(t, "ann", "2.00").WithKey(call.Key))
	f.WantProblem(t, http.StatusBadRequest, "idempotency_key_required", call.WithKey(""))
	f.WantProblem(t, http.StatusBadRequest, "idempotency_key_invalid", call.WithKey("a;b"))
	f.WantProblem(t, http.StatusPaymentRequired, "insufficient_funds", f.ChargeCall(t, "poor", "1.00"))
	f.WantProblem(t, http.StatusNotFound, "not_found", f.ConfirmCall(t, e2e.Alice, 4711))
}

func exceedLimit(t testing.TB, f *fixture) {
	t.Helper()
	greedy := e2e.Get(f.Token(t, "greedy", "customer"), "/products/tea")
	e2e.Eventually(t, "the limit is exceeded", func() bool { return f.Send(t, greedy).Status == http.StatusTooManyRequests })
}

func forgeToken(t testing.TB, f *fixture) {
	t.Helper()
	f.WantProblem(t, http.StatusUnauthorized, "unauthenticated", e2e.Get("forged", "/products/tea"))
}

// shareTransactions credits many balances together, one of which is locked. The group with
// its credits has to split, unless one of them happens to run first, alone: it marks the row,
// and groups leave the others out. Then all are sent again.
func shareTransactions(t testing.TB, f *fixture) {
	t.Helper()
	before, _ := scrape(t, f.admin).value("orders_command_groups_split_total")
	for round := range 20 {
		lock := f.lockBalance(t, "ann")
		var calls []e2e.Call
		for i := range 12 {
			customer := fmt.Sprintf("round-%d-%d", round, i)
			if i%4 == 0 {
				customer = "ann"
			}
			calls = append(calls, f.CreditCall(t, customer, "1.00"))
		}
		wait := f.inBackground(t, calls...)
		lock.AwaitWaiter(t) // all others need not: they may wait for the principal's share
		lock.Release()
		wait()
		if after, _ := scrape(t, f.admin).value("orders_command_groups_split_total"); after > before {
			return
		}
	}
}

// readTogether reads as different people: one principal may not have all connections.
func readTogether(t testing.TB, f *fixture) {
	t.Helper()
	var calls []e2e.Call
	for i := range 60 {
		calls = append(calls, e2e.Get(f.Token(t, fmt.Sprintf("reader-%d", i), "customer"), "/products/tea"))
	}
	f.SendAllTogether(t, calls)
}

func loseRace(t testing.TB, f *fixture) {
	t.Helper()
	f.Exec(t, `CREATE SEQUENCE races`)
	f.Exec(t, `CREATE FUNCTION race() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
		IF nextval('races') = 1 THEN RAISE EXCEPTION 'a race' USING ERRCODE = '40001'; END IF;
		RETURN NEW;
	END $$`)
	f.Exec(t, `CREATE TRIGGER race BEFORE INSERT ON product FOR EACH ROW EXECUTE FUNCTION race()`)
	f.PutProduct(t, "cup", 1)
}

// expire lets a record expire that the clean-up cannot delete, because its row is locked.
func expire(t testing.TB, f *fixture) {
	t.Helper()
	f.insertRecord(t, "expires", "200 milliseconds")
	lock := f.LockRows(t, "SELECT FROM idempotency_record WHERE key = 'expires' FOR UPDATE")
	f.undo = lock.Release
}

func cleanUp(t testing.TB, f *fixture) {
	t.Helper()
	f.insertRecord(t, "expired", "-1 hour")
	f.insertJob(t, "clean_idempotency_records", "available")
}

func leaveJobs(t testing.TB, f *fixture) {
	t.Helper()
	f.insertJob(t, "reconcile", "discarded")
	f.insertJob(t, "clean_outbox", "retryable")
}

func growTable(t testing.TB, f *fixture) {
	t.Helper()
	f.Exec(t, `INSERT INTO audit_log (actor, at, action, resource)
		SELECT 'root', now(), 'getOrder', 'order/' || i FROM generate_series(1, 3000) i`)
	f.Exec(t, "ANALYZE audit_log")
}

func dispute(t testing.TB, f *fixture) {
	t.Helper()
	f.InsertDispute(t, f.MustCreatePaidOrder(t, e2e.Alice, "tea", 1).ID)
}

func payByCard(t testing.TB, f *fixture) {
	t.Helper()
	f.MustPayByCard(t, f.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, "pm_card_visa")
}

func forgeWebhook(t testing.TB, f *fixture) {
	t.Helper()
	f.WantProblem(t, http.StatusBadRequest, "malformed_request", e2e.WebhookCall(`{}`, "t=1,v1=00"))
}

func sendLargeWebhook(t testing.TB, f *fixture) {
	t.Helper()
	f.WantProblem(t, http.StatusRequestEntityTooLarge, "body_too_large", e2e.WebhookCall(strings.Repeat(" ", 256<<10+1), "t=1,v1=00"))
}

func sendMessage(t testing.TB, f *fixture) {
	t.Helper()
	if _, err := natstest.JetStream(t, f.broker).Publish(t.Context(), events.Subject, []byte("no JSON")); err != nil {
		t.Fatal(err)
	}
}

func addEndpoint(t testing.TB, f *fixture) {
	t.Helper()
	f.Exec(t, `INSERT INTO webhook_endpoint (owner, url, event_types, description, ordered, secret, created_at, updated_at)
		VALUES ('root', 'https://127.0.0.1:1', '{*}', '', false, 'whsec_', now(), now())`)
	f.Credit(t, "ann", "1.00")
}

// lockEndpoint keeps the relay from writing deliveries.
func lockEndpoint(t testing.TB, f *fixture) {
	t.Helper()
	f.undo = f.LockRows(t, "SELECT FROM webhook_endpoint FOR UPDATE").Release
	f.Credit(t, "ann", "1.00")
}

func disableEndpoint(t testing.TB, f *fixture) {
	t.Helper()
	f.Exec(t, `UPDATE webhook_endpoint SET disabled_at = now(), disabled_reason = 'test'`)
}

// stopBroker leaves one event unpublished.
func stopBroker(t testing.TB, f *fixture) {
	t.Helper()
	e2e.Eventually(t, "all payments are decided, and all events published", func() bool {
		return f.Count(t, "SELECT count(*) FROM payment WHERE status = 'processing'") == 0 &&
			f.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	f.broker.Halt()
	f.Credit(t, "ann", "1.00")
	f.undo = func() {
		if err := f.broker.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func stopProvider(t testing.TB, f *fixture) {
	t.Helper()
	f.provider.SetHook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusBadGateway)
	})
	for range 8 { // each job makes three attempts
		f.MustPayByCard(t, f.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, "pm_card_visa")
	}
	f.undo = func() { f.provider.SetHook(nil) }
}

// rotateKeys sends a token with the new key until the service has fetched it: it does not
// ask the issuer each time.
func rotateKeys(t testing.TB, f *fixture) {
	t.Helper()
	if err := f.Issuer.Rotate(); err != nil {
		t.Fatal(err)
	}
	call := e2e.Get(f.Token(t, "rita", "customer"), "/products/tea")
	ticker := time.NewTicker(time.Second)
	t.Cleanup(ticker.Stop)
	e2e.Eventually(t, "the new key is known", func() bool {
		<-ticker.C
		return f.Send(t, call).Status == http.StatusOK
	})
}

func makeReadOnly(t testing.TB, f *fixture) {
	t.Helper()
	f.alterService(t, "ALTER ROLE "+pgtest.ServiceRole+" IN DATABASE %I SET default_transaction_read_only = on")
	f.undo = func() {
		f.alterService(t, "ALTER ROLE "+pgtest.ServiceRole+" IN DATABASE %I RESET default_transaction_read_only")
	}
}

func stopDatabase(t testing.TB, f *fixture) {
	t.Helper()
	f.alterService(t, "ALTER DATABASE %I CONNECTION LIMIT 0")
	f.undo = func() { f.alterService(t, "ALTER DATABASE %I CONNECTION LIMIT -1") }
}

func closeOutput(t testing.TB, f *fixture) {
	t.Helper()
	f.process.CloseOutput(t)
	f.Send(t, e2e.Get("", "/no/such/path"))
}

// fixture is a replica with everything that it can be connected to.
type fixture struct {
	*e2e.Service
	process  *e2e.Process
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
		"ORDERS_IDEMPOTENCY_WAIT=300ms", "ORDERS_REQUESTS_PER_MINUTE=200",
		"ORDERS_JWKS_URL="+issuer.URL+"/.well-known/jwks.json")
	f.process = env.StartProcess(t, e2e.BuildOrders(t), settings...)
	f.Service = env.ServiceOf(f.process)
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
