package metrics_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// change is how the value of a series must change.
type change struct {
	says  string
	holds func(before, after float64) bool
}

var grows = change{"grows", func(before, after float64) bool { return after > before }}

func is(value float64) change {
	return change{fmt.Sprintf("is %v", value), func(_, after float64) bool { return after == value }}
}

// move is something that happens to a replica, and the metrics that it moves.
type move struct {
	name string
	do   func(t testing.TB, f *fixture)
	want map[string]change
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
	{"a list that a standby may serve", list, map[string]change{
		`orders_standby_reads_total{outcome="failed"}`: grows,
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
		`orders_unauthenticated_requests_total{reason="malformed"}`: grows,
		`orders_unauthenticated_requests_total{reason="expired"}`:   is(0),
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
	{"a privilege that the service does not need", grantPrivilege, map[string]change{
		"orders_database_excess_privileges": grows,
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

func shareTransactions(t testing.TB, f *fixture) {
	t.Helper()
	lock := f.lockBalance(t, "ann")
	var calls []e2e.Call
	for i := range 12 {
		customer := fmt.Sprintf("customer-%d", i)
		if i%4 == 0 {
			customer = "ann"
		}
		calls = append(calls, f.CreditCall(t, customer, "1.00"))
	}
	wait := f.inBackground(t, calls...)
	lock.AwaitWaiter(t)
	f.undo = func() { lock.Release(); wait() }
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

func list(t testing.TB, f *fixture) {
	t.Helper()
	e2e.Eventually(t, "the list is asked of the standby", func() bool {
		r := f.Send(t, e2e.Get(f.SellerToken(t), "/products"))
		_, metrics := e2e.Fetch(t, "http://"+f.admin+"/metrics")
		return r.Status == http.StatusOK && !strings.Contains(metrics, `orders_standby_reads_total{outcome="failed"} 0`)
	})
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

func grantPrivilege(t testing.TB, f *fixture) {
	t.Helper()
	f.Exec(t, "GRANT TRUNCATE ON audit_log TO "+pgtest.ServiceRole)
	f.undo = func() { f.Exec(t, "REVOKE TRUNCATE ON audit_log FROM "+pgtest.ServiceRole) }
}

// stopBroker leaves one event unpublished.
func stopBroker(t testing.TB, f *fixture) {
	t.Helper()
	e2e.Eventually(t, "all events are published", func() bool {
		return f.Count(t, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
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
