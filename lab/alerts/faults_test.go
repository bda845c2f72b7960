//go:build prometheus

package alerts

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/dev/fakestripe"
	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
)

// fault is something that breaks, and the alerts that it raises.
type fault struct {
	name   string
	alerts []string
	// strike breaks it and returns how to repair it, nil where nothing remains broken. It is
	// nil for what is broken from the start.
	strike func(testing.TB, *system) (repair func())
	// lasting alerts look back, so that they do not end with the repair.
	lasting bool
}

// faults are in the order in which they strike. The last ones leave no replica.
var faults = []fault{
	{"somebody changes a balance", []string{"OrdersReconciliationMismatch"}, nil, true}, // plantMismatch
	{"tokens of a stranger arrive", []string{"OrdersTokensRefused"}, nil, true},         // refreshKeys
	{"reconciliation fails for hours", []string{"OrdersReconciliationStale"}, stopReconciliation, false},
	{"a dispute waits for an answer", []string{"OrdersDisputeUnanswered"}, openDispute, false},
	{"the clean-up fails", []string{"OrdersRecordsNotCleaned"}, stopCleanUp, false},
	{"jobs fail", []string{"OrdersJobsFailing"}, failJobs, true},
	{"a client reuses keys", []string{"OrdersKeysReused"}, reuseKeys, true},
	{"a client sends too much", []string{"OrdersClientsLimited"}, exceedLimit, true},
	{"a webhook cannot be read", []string{"OrdersWebhooksRejected"}, sendUnreadableWebhook, true},
	{"webhooks have another secret", []string{"OrdersWebhooksUnsigned"}, sendUnsignedWebhook, true},
	{"a message cannot be read", []string{"OrdersEventsDeadLettered"}, sendUnreadableMessage, true},
	{"the connection breaks during COMMIT", []string{"OrdersOutcomeUnknown"}, breakCommit, true},
	{"transactions deadlock", []string{"OrdersTransactionsRestart"}, causeDeadlocks, true},
	{"somebody locks a balance", []string{"OrdersSlow"}, lockBalance, true},
	{"somebody locks a table", []string{"OrdersPoolExhausted"}, lockTable, false},
	{"the card provider fails", []string{"OrdersProviderFailing", "OrdersSettlementLate"}, failProvider, true},
	{"the issuer is silent", []string{"OrdersSigningKeysOld"}, silenceIssuer, false},
	{"deliveries are not written", []string{"OrdersDeliveriesLag"}, stopDeliveries, false},
	{"the broker is down", []string{"OrdersBrokerDisconnected", "OrdersOutboxLag"}, stopBroker, false},
	{"the database is read-only", []string{"OrdersDatabaseReadOnly", "OrdersNotReady", "OrdersReplicaMissing"}, forbidWrites, false},
	{"the database is down", []string{"OrdersDatabaseDown", "OrdersNotReady", "OrdersReplicaMissing"}, stopDatabase, false},
	{"commands and webhooks fail", []string{"OrdersErrors", "OrdersWebhooksFailing"}, failCommands, true},
	{"the log reader of a replica is gone", []string{"OrdersLogLinesDropped"}, closeOutput(1), true},
	{"a replica dies", []string{"OrdersReplicaMissing"}, killReplica(1), true},
	{"the last replica dies", []string{"OrdersDown"}, killReplica(0), true},
}

// plantMismatch lets a balance differ from its entries. The first pass of reconciliation,
// when the service starts, finds it.
func plantMismatch(t testing.TB, env *e2e.Env) {
	t.Helper()
	env.Exec(t, `INSERT INTO balance (customer_id, currency, amount) VALUES ('nobody', 'RUB', 4)`)
}

const raise = `RAISE EXCEPTION 'planted'`

func stopReconciliation(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.Exec(t, `UPDATE reconciliation SET finished_at = now() - interval '4 hours'`)
	allow := s.plant(t, `TRIGGER BEFORE UPDATE ON reconciliation`, raise)
	return func() {
		allow()
		s.Exec(t, `UPDATE reconciliation SET finished_at = now()`)
	}
}

func openDispute(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.InsertDispute(t, s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1).ID)
	return func() { s.Exec(t, `DELETE FROM dispute`) }
}

func stopCleanUp(t testing.TB, s *system) (repair func()) {
	t.Helper()
	allow := s.plant(t, `TRIGGER BEFORE DELETE ON idempotency_record`, raise)
	s.Exec(t, `INSERT INTO idempotency_record (scope, key, fingerprint, operation, status,
			content_type, location, body, created_at, expires_at)
		SELECT 'nobody', 'old-' || n, '\x00', 'credit', 201, '', '', '', now() - interval '2 days', now() - interval '1 day'
		FROM generate_series(1, 6000) n`)
	return func() {
		allow()
		s.Exec(t, `DELETE FROM idempotency_record WHERE scope = 'nobody'`)
	}
}

func failJobs(t testing.TB, s *system) (repair func()) {
	t.Helper()
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.ExpireReservation(t, o.ID)
	return s.plant(t, `TRIGGER BEFORE UPDATE ON orders`, raise)
}

func reuseKeys(t testing.TB, s *system) (repair func()) {
	t.Helper()
	first := s.CreditCall(t, e2e.Alice, "1.00")
	s.MustSend(t, first)
	for n := range 7 {
		other := s.CreditCall(t, e2e.Alice, fmt.Sprint(n+2)).WithKey(first.Key)
		s.WantProblem(t, http.StatusConflict, "idempotency_key_reused", other)
	}
	return nil
}

func exceedLimit(t testing.TB, s *system) (repair func()) {
	t.Helper()
	read := e2e.Get(s.Token(t, e2e.Mallory, "customer"), "/products/tea")
	s.keepSending(t, func() e2e.Call { return read })
	return nil
}

func sendUnreadableWebhook(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.SendWebhook(t, `{"type": "payment_intent.succeeded"}`)
	return nil
}

func sendUnsignedWebhook(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.MustPayByCard(t, s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, "pm_card_visa")
	s.WantProblem(t, http.StatusBadRequest, "malformed_request",
		e2e.WebhookCall("{}", fakestripe.Sign("whsec_another", []byte("{}"), time.Now())))
	return nil
}

// starveWebhooks sends the headers of more webhooks than one address may send at a time.
func starveWebhooks(t testing.TB, s *system) {
	t.Helper()
	for range 45 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := fmt.Fprintf(conn, "POST /webhooks/stripe HTTP/1.1\r\nHost: orders\r\nContent-Length: 2\r\nStripe-Signature: %s\r\n\r\n",
			fakestripe.Sign("whsec_another", nil, time.Now())); err != nil {
			t.Fatal(err)
		}
	}
}

func sendUnreadableMessage(t testing.TB, s *system) (repair func()) {
	t.Helper()
	js := natstest.JetStream(t, s.broker)
	e2e.Eventually(t, "the broker takes the message", func() bool {
		_, err := js.Publish(t.Context(), events.Subject, []byte("no JSON"), jetstream.WithMsgID("unreadable"))
		return err == nil
	})
	return nil
}

func breakCommit(t testing.TB, s *system) (repair func()) {
	t.Helper()
	allow := s.plant(t, `CONSTRAINT TRIGGER AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED`,
		`PERFORM pg_terminate_backend(pg_backend_pid())`)
	s.WantProblem(t, http.StatusServiceUnavailable, "outcome_unknown", s.CreditCall(t, e2e.Alice, "1.00"))
	allow()
	return nil
}

func causeDeadlocks(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.Exec(t, `CREATE SEQUENCE planted_deadlocks`)
	s.keepSending(t, func() e2e.Call { return s.CreditCall(t, e2e.Alice, "1.00") })
	return s.plant(t, `TRIGGER BEFORE INSERT ON ledger_entry`,
		`IF nextval('planted_deadlocks') % 4 <> 0 THEN RAISE EXCEPTION 'planted' USING ERRCODE = '40P01'; END IF`)
}

// lockBalance locks a balance for longer than a command may take.
func lockBalance(t testing.TB, s *system) (repair func()) {
	t.Helper()
	lock := s.LockRows(t, `SELECT FROM balance WHERE customer_id = $1 FOR UPDATE`, e2e.Alice)
	for range 8 {
		credit := s.CreditCall(t, e2e.Alice, "1.00")
		natstest.Run(t, func(ctx context.Context) { _, _ = s.Try(ctx, t, credit) })
	}
	e2e.Eventually(t, "a command waits for long", func() bool {
		return s.Count(t, `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '1500 milliseconds'`) > 0
	})
	lock.Release()
	return nil
}

// lockTable locks a table as a careless migration does. So many customers read it meanwhile
// that no connection is left.
func lockTable(t testing.TB, s *system) (repair func()) {
	t.Helper()
	tx, err := s.DB.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `LOCK TABLE product IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	for n := range 2 * poolSize {
		read := e2e.Get(s.Token(t, fmt.Sprint("reader-", n), "customer"), "/products/tea")
		natstest.Run(t, func(ctx context.Context) { _, _ = s.Try(ctx, t, read) })
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func failProvider(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.provider.SetHook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusInternalServerError)
	})
	s.MustPayByCard(t, s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, "pm_card_visa")
	s.Exec(t, `UPDATE river.river_job SET created_at = now() - interval '20 minutes' WHERE kind = 'settle_payment'`)
	return func() { s.provider.SetHook(nil) }
}

func silenceIssuer(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.silent.Store(true)
	return func() { s.silent.Store(false) }
}

// refreshKeys lets both replicas fetch the keys of the issuer as often as they may: a token
// names a key that they do not know.
func (s *system) refreshKeys(t testing.TB) {
	t.Helper()
	stranger, err := devissuer.New(devissuer.Config{Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := stranger.Token(e2e.Alice, []string{"customer"}, e2e.Patience)
	if err != nil {
		t.Fatal(err)
	}
	for _, replica := range s.replicas {
		near := s.ServiceOf(replica)
		natstest.Run(t, func(ctx context.Context) {
			for ctx.Err() == nil {
				_, _ = near.Try(ctx, t, e2e.Get(token, "/products/tea")) // refused
				rest(ctx, 500)
			}
		})
	}
}

func stopDeliveries(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.Exec(t, `INSERT INTO webhook_endpoint (owner, url, event_types, description, ordered, secret, created_at, updated_at)
		VALUES ('root', 'https://127.0.0.1:1', '{*}', '', false, 'whsec_', now() - interval '1 hour', now())`)
	allow := s.plant(t, `TRIGGER BEFORE INSERT ON webhook_delivery`, raise)
	s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.Exec(t, `UPDATE outbox SET created_at = now() - interval '20 minutes' WHERE dispatched_at IS NULL`)
	return func() {
		allow()
		s.Exec(t, `DELETE FROM webhook_endpoint`)
	}
}

func stopBroker(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.broker.Halt()
	s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.Exec(t, `UPDATE outbox SET created_at = now() - interval '20 minutes' WHERE published_at IS NULL`)
	return func() {
		if err := s.broker.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func forbidWrites(t testing.TB, s *system) (repair func()) {
	t.Helper()
	set := func(value string) {
		s.Exec(t, `ALTER SYSTEM SET default_transaction_read_only = `+value)
		s.Exec(t, `SELECT pg_reload_conf()`)
	}
	set("on")
	return func() { set("off") }
}

func stopDatabase(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.server.Kill()
	return func() {
		if err := s.server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.DB.Reset() // its connections are broken
	}
}

func failCommands(t testing.TB, s *system) (repair func()) {
	t.Helper()
	s.keepSending(t, func() e2e.Call { return s.CreditCall(t, e2e.Alice, "1.00") })
	starveWebhooks(t, s)
	return s.plant(t, `TRIGGER BEFORE INSERT ON ledger_entry`, raise)
}

// closeOutput lets each log line of a replica be lost. Its jobs and probes log.
func closeOutput(replica int) func(testing.TB, *system) (repair func()) {
	return func(t testing.TB, s *system) (repair func()) {
		t.Helper()
		s.replicas[replica].CloseOutput(t)
		unread := *s.Service
		unread.URL = s.replicas[replica].URL
		natstest.Run(t, func(ctx context.Context) {
			for ctx.Err() == nil {
				_, _ = unread.Try(ctx, t, e2e.Get("", "/no/such/path"))
			}
		})
		return nil
	}
}

func killReplica(number int) func(testing.TB, *system) (repair func()) {
	return func(_ testing.TB, s *system) (repair func()) {
		s.replicas[number].Kill()
		return nil
	}
}

// shortened returns the rules with one limit that no test can wait for: keys that are older
// than an hour. The service fetches them at most every ten seconds.
func shortened(t testing.TB, rules string) string {
	t.Helper()
	const limit, short = "(orders_jwks_age_seconds) > 3600", "(orders_jwks_age_seconds) > 25"
	if strings.Count(rules, limit) != 1 {
		t.Fatalf("the rules do not have %s once", limit)
	}
	return strings.Replace(rules, limit, short, 1)
}

// rest waits for about a time, or until the test ends.
func rest(ctx context.Context, milliseconds int) {
	select {
	case <-time.After(time.Duration(rand.IntN(2*milliseconds)) * time.Millisecond):
	case <-ctx.Done():
	}
}
