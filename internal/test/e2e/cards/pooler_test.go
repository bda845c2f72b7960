package cards_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/test/e2e"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
)

// serverConnections is how many connections all clients of the pooler share. They are
// few, so that a transaction often gets the connection of another client.
const serverConnections = 4

// Behind a pooler, the service answers, replays, and settles as it does without one. It
// leaves nothing on the connections that others use.
func TestService_WorksBehindATransactionPooler(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 20})
	pooledURL := pgbouncertest.Start(t, c.ServiceURL(t), serverConnections)
	pooled := c.StartReplica(t, append(e2e.CardSettings(c.provider.URL),
		"ORDERS_DATABASE_URL="+pooledURL, "ORDERS_DATABASE_POOLER=transaction")...)
	pooled.Run(t)

	credits := make([]e2e.Call, 40)
	for i := range credits {
		credits[i] = c.CreditCall(t, c.UniqueName("customer"), "1.00")
	}
	first := pooled.SendAllTogether(t, credits)
	for i, replay := range pooled.SendAllTogether(t, credits) {
		if first[i].Status != http.StatusCreated || !replay.Replayed() || !replay.SameAs(first[i]) {
			t.Errorf("first %d %s, then %d %s", first[i].Status, first[i].Body, replay.Status, replay.Body)
		}
	}
	o, _ := mustBuyByCard(t, pooled, "tea", 2, "pm_card_visa")
	r := e2e.Want[e2e.Refund](t, pooled, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, "50.00"))
	if got := awaitRefundSettled(t, pooled, r); got != "succeeded" {
		t.Errorf("the refund is %s, want succeeded", got)
	}
	expired := pooled.MustCreateOrder(t, e2e.Alice, "tea", 3)
	c.ExpireReservation(t, expired.ID)
	e2e.Eventually(t, "the stock is released", func() bool { return pooled.ReadProduct(t, "tea").Reserved == 0 })
	c.wantSameMoney(t)
	wantCleanConnections(t, pooledURL)
}

// wantCleanConnections opens a transaction on each connection of the pooler at the same
// time, and looks at what is left from others.
func wantCleanConnections(t *testing.T, pooledURL string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	seen := map[int]bool{}
	for range serverConnections {
		conn, err := pgx.Connect(ctx, pooledURL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
			t.Fatal(err)
		}
		var pid, channels, statements int
		var idle string
		err = conn.QueryRow(ctx, `SELECT pg_backend_pid(), (SELECT count(*) FROM pg_listening_channels()),
			(SELECT count(*) FROM pg_prepared_statements WHERE statement NOT LIKE '%pg_listening_channels%'),
			current_setting('idle_in_transaction_session_timeout')`, pgx.QueryExecModeExec).Scan(&pid, &channels, &statements, &idle)
		if err != nil {
			t.Fatal(err)
		}
		if channels > 0 || statements > 0 || idle != "0" {
			t.Errorf("a connection listens on %d channels, has %d prepared statements and the time-out %s", channels, statements, idle)
		}
		seen[pid] = true
	}
	if len(seen) != serverConnections {
		t.Errorf("%d connections were seen, want %d", len(seen), serverConnections)
	}
}
