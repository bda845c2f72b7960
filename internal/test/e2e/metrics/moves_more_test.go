package metrics_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/orders/internal/adapters/in/events"
	"example.com/orders/internal/test/e2e"
	natstest "example.com/orders/internal/test/nats"
	pgtest "example.com/orders/internal/test/pg"
)

// expire lets a record expire that the clean-up cannot delete, because its row is locked.
func expire(t testing.TB, f *fixture) func() {
	t.Helper()
	f.insertRecord(t, "expires", "200 milliseconds")
	lock := f.LockRows(t, "SELECT FROM idempotency_record WHERE key = 'expires' FOR UPDATE")
	return lock.Release
}

func list(t testing.TB, f *fixture) func() {
	t.Helper()
	e2e.Eventually(t, "the list is asked of the standby", func() bool {
		r := f.Send(t, e2e.Get(f.SellerToken(t), "/products"))
		_, metrics := e2e.Fetch(t, "http://"+f.admin+"/metrics")
		return r.Status == http.StatusOK && !strings.Contains(metrics, `orders_standby_reads_total{outcome="failed"} 0`)
	})
	return nil
}

func cleanUp(t testing.TB, f *fixture) func() {
	t.Helper()
	f.insertRecord(t, "expired", "-1 hour")
	f.insertJob(t, "clean_idempotency_records", "available")
	return nil
}

func leaveJobs(t testing.TB, f *fixture) func() {
	t.Helper()
	f.insertJob(t, "reconcile", "discarded")
	f.insertJob(t, "clean_outbox", "retryable")
	return nil
}

func growTable(t testing.TB, f *fixture) func() {
	t.Helper()
	f.Exec(t, `INSERT INTO audit_log (actor, at, action, resource)
		SELECT 'root', now(), 'getOrder', 'order/' || i FROM generate_series(1, 3000) i`)
	f.Exec(t, "ANALYZE audit_log")
	return nil
}

func payByCard(t testing.TB, f *fixture) func() {
	t.Helper()
	f.MustPayByCard(t, f.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, "pm_card_visa")
	return nil
}

func forgeWebhook(t testing.TB, f *fixture) func() {
	t.Helper()
	f.WantProblem(t, http.StatusBadRequest, "malformed_request", e2e.WebhookCall(`{}`, "t=1,v1=00"))
	return nil
}

func sendMessage(t testing.TB, f *fixture) func() {
	t.Helper()
	if _, err := natstest.JetStream(t, f.broker).Publish(t.Context(), events.Subject, []byte("no JSON")); err != nil {
		t.Fatal(err)
	}
	return nil
}

func grantPrivilege(t testing.TB, f *fixture) func() {
	t.Helper()
	f.Exec(t, "GRANT TRUNCATE ON audit_log TO "+pgtest.ServiceRole)
	return func() { f.Exec(t, "REVOKE TRUNCATE ON audit_log FROM "+pgtest.ServiceRole) }
}

func stopBroker(t testing.TB, f *fixture) func() {
	t.Helper()
	f.broker.Halt()
	f.Credit(t, "ann", "1.00")
	return func() {
		if err := f.broker.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func stopProvider(t testing.TB, f *fixture) func() {
	t.Helper()
	f.provider.SetHook(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusBadGateway)
	})
	for range 8 { // each job makes three attempts
		f.MustPayByCard(t, f.MustCreateOrder(t, e2e.Alice, "tea", 1).ID, "pm_card_visa")
	}
	return func() { f.provider.SetHook(nil) }
}

// rotateKeys sends a token with the new key until the service has fetched it: it does not
// ask the issuer each time.
func rotateKeys(t testing.TB, f *fixture) func() {
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
	return nil
}

func makeReadOnly(t testing.TB, f *fixture) func() {
	t.Helper()
	f.alterService(t, "ALTER ROLE "+pgtest.ServiceRole+" IN DATABASE %I SET default_transaction_read_only = on")
	return func() {
		f.alterService(t, "ALTER ROLE "+pgtest.ServiceRole+" IN DATABASE %I RESET default_transaction_read_only")
	}
}

func stopDatabase(t testing.TB, f *fixture) func() {
	t.Helper()
	f.alterService(t, "ALTER DATABASE %I CONNECTION LIMIT 0")
	return func() { f.alterService(t, "ALTER DATABASE %I CONNECTION LIMIT -1") }
}
