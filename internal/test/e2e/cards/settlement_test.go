package cards_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
)

// jobOf is the condition for the job of one payment or refund. Its parameters are the kind
// and the ID.
const jobOf = `kind = $1 AND args @> jsonb_build_object('id', $2::bigint)`

// The process that rescues jobs need not be one that accepts cards.
func TestSettlement_SurvivesRescueByProcessWithoutCards(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 5})
	p := c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	c.Exec(t, `UPDATE river.river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '1 hour', attempted_by = '{dead}'
		WHERE `+jobOf, "settle_payment", p.ID)

	c.StartReplica(t).Run(t) // without cards
	e2e.Eventually(t, "the job is rescued", func() bool {
		return c.Count(t, `SELECT count(*) FROM river.river_job WHERE state IN ('available', 'discarded') AND `+jobOf, "settle_payment", p.ID) == 1
	})
	if n := c.Count(t, `SELECT count(*) FROM river.river_job WHERE state = 'available' AND attempt = 1 AND `+jobOf, "settle_payment", p.ID); n != 1 {
		t.Error("the process without cards threw the job away, or ran it")
	}

	c.Run(t)
	if got := awaitSettled(t, c.Service, p).Status; got != "captured" {
		t.Errorf("the payment is %s, want captured", got)
	}
	c.wantSameMoney(t)
}

// However a job was lost, its payment or refund does not wait for ever.
func TestSettlement_ContinuesWhenItsJobIsGone(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 5})
	stop := c.Run(t)
	bought, _ := mustBuyByCard(t, c.Service, "tea", 1, "pm_card_visa")
	stop()
	r := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), bought.ID, "50.00"))
	p := c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
	c.Exec(t, `DELETE FROM river.river_job`)
	c.Exec(t, `UPDATE payment SET created_at = created_at - interval '1 hour' WHERE id = $1`, p.ID)
	c.Exec(t, `UPDATE refund SET created_at = created_at - interval '1 hour' WHERE id = $1`, r.ID)

	log := &testlog.Buffer{}
	c.StartReplicaWithLog(t, func(config.Config) zerolog.Logger { return zerolog.New(log) }, e2e.CardSettings(c.provider.URL)...).Run(t)

	if got := awaitSettled(t, c.Service, p).Status; got != "captured" {
		t.Errorf("the payment is %s, want captured", got)
	}
	if got := awaitRefundSettled(t, c.Service, r); got != "succeeded" {
		t.Errorf("the refund is %s, want succeeded", got)
	}
	if n := strings.Count(log.String(), "settlement job restored"); n != 2 {
		t.Errorf("%d restored jobs are logged, want 2:\n%s", n, log)
	}
	c.wantSameMoney(t)
	if n := len(c.provider.chargesByPayment(t)); n != 2 {
		t.Errorf("%d charges at the provider, want 2", n)
	}
}

// The service learns of the capture by reconciliation, and also by a webhook.
func TestCardPayment_CapturedAfterItFailedIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	c := startCardShop(t, e2e.Stock{"tea": 10})
	c.Run(t)
	o := c.MustCreateOrder(t, e2e.Alice, "tea", 2)
	failed := awaitSettled(t, c.Service, c.MustPayByCard(t, o.ID, "pm_card_declined"))
	c.provider.Capture(t, failed, c.PaymentKey(t, failed.ID), 20000, c.NewKey())

	c.reconcile(t)
	c.provider.SendTo(c.URL + "/webhooks/stripe")
	if err := c.provider.Deliver(t.Context()); err != nil {
		t.Error(err)
	}

	e2e.Eventually(t, "the money is given back", func() bool {
		return c.Count(t, `SELECT count(*) FROM refund WHERE status = 'succeeded'`) == 1
	})
	if refunds := c.provider.refunds(t); len(refunds) != 1 || refunds[0] != 20000 {
		t.Errorf("the provider refunded %v, want 20000 once", refunds)
	}
	c.WantOrderStatus(t, o.ID, "pending_payment")
	if p := c.ReadPayments(t, o.ID)[0]; p.Status != "failed" || p.Refunded.Amount != "200.00" {
		t.Errorf("the payment is %s and %s refunded, want failed and 200.00", p.Status, p.Refunded.Amount)
	}
	if n := c.Count(t, `SELECT count(*) FROM outbox WHERE type = 'payment.captured_late'`); n != 1 {
		t.Errorf("%d events for operators, want 1", n)
	}
	paid := awaitSettled(t, c.Service, c.MustPayByCard(t, o.ID, "pm_card_visa"))
	if found := c.reconcile(t); paid.Status != "captured" || len(found) > 0 {
		t.Errorf("another payment is %s, want captured; mismatches: %v", paid.Status, found)
	}
}

// dropResponses lets the provider do what it is asked, and loses its responses to all changes.
// It returns a channel that is closed when the first one is lost.
func (p *provider) dropResponses() <-chan struct{} {
	dropped, isDropped := e2e.NewSignal()
	p.SetHook(func(w http.ResponseWriter, r *http.Request, stub http.Handler) {
		if r.Method != http.MethodPost {
			stub.ServeHTTP(w, r)
			return
		}
		stub.ServeHTTP(httptest.NewRecorder(), r)
		isDropped()
		panic(http.ErrAbortHandler) // breaks the connection
	})
	return dropped
}

// runUntilLost works on the jobs until the provider has done what one of them asked for,
// and the service does not know.
func (c cardShop) runUntilLost(t *testing.T) {
	t.Helper()
	dropped := c.provider.dropResponses()
	replica := c.StartReplica(t, e2e.CardSettings(c.provider.URL)...)
	stop := replica.Run(t)
	e2e.Receive(t, dropped, "the provider has worked")
	stop()
	c.provider.SetHook(nil)
}

// loseJob replaces a job by one that has not run. The provider has forgotten its keys
// meanwhile.
func (c cardShop) loseJob(t *testing.T, kind string) {
	t.Helper()
	c.ReplaceJobs(t, `kind = $1`, kind)
	if err := c.provider.ForgetKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCardPayment_IsChargedOnceWhenItsJobIsPutBack(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]string{
		"marked as asked":                 `SELECT`,
		"whose mark is lost in a restore": `UPDATE payment SET asked_at = NULL, created_at = created_at - interval '2 hours'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCardShop(t, e2e.Stock{"tea": 5})
			p := c.MustPayByCard(t, c.MustCreateOrder(t, e2e.Alice, "tea", 2).ID, "pm_card_visa")
			c.runUntilLost(t)
			c.loseJob(t, "settle_payment")
			c.Exec(t, restore)

			c.Run(t)

			if got := awaitSettled(t, c.Service, p).Status; got != "captured" {
				t.Errorf("the payment is %s, want captured", got)
			}
			if charges := c.provider.intents(t); len(charges) != 1 {
				t.Errorf("the provider captured %v, want 20000 once", charges)
			}
		})
	}
}

func TestCardRefund_IsMadeOnceWhenItsJobIsPutBack(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]string{
		"marked as asked":                 `SELECT`,
		"whose mark is lost in a restore": `UPDATE refund SET asked_at = NULL, created_at = created_at - interval '2 hours'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startCardShop(t, e2e.Stock{"tea": 5})
			stop := c.StartReplica(t, e2e.CardSettings(c.provider.URL)...).Run(t)
			o, _ := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
			stop()
			r := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, "50.00"))
			c.runUntilLost(t)
			c.loseJob(t, "settle_refund")
			c.Exec(t, restore)

			c.Run(t)

			if got := awaitRefundSettled(t, c.Service, r); got != "succeeded" {
				t.Errorf("the refund is %s, want succeeded", got)
			}
			if refunds := c.provider.refunds(t); len(refunds) != 1 {
				t.Errorf("the provider refunded %v, want 5000 once", refunds)
			}
		})
	}
}

// startTwoIncarnations starts two card shops with one provider, on two copies of one
// database, as after a restore to an earlier moment: both give the same numbers to
// orders, payments and refunds.
func startTwoIncarnations(t *testing.T) (lost, restored cardShop) {
	t.Helper()
	lost = startCardShop(t, e2e.Stock{"tea": 10})
	restored = cardShop{e2e.Start(t, e2e.CardSettings(lost.provider.URL)...), lost.provider}
	restored.StockUp(t, e2e.Stock{"tea": 10})
	lost.Run(t)
	restored.Run(t)
	return lost, restored
}

func TestCardPayment_IsChargedWhenALostRowHadItsNumber(t *testing.T) {
	t.Parallel()
	lost, restored := startTwoIncarnations(t)
	_, first := mustBuyByCard(t, lost.Service, "tea", 2, "pm_card_visa")
	o := restored.MustCreateOrder(t, e2e.Alice, "tea", 2)
	second := restored.MustPayByCard(t, o.ID, "pm_card_visa")
	if first.ID != second.ID || first.OrderID != second.OrderID {
		t.Fatalf("the payments are %d and %d; they must have one number", first.ID, second.ID)
	}

	if got := awaitSettled(t, restored.Service, second).Status; got != "captured" {
		t.Errorf("the second payment is %s, want captured", got)
	}

	if charges := restored.provider.intents(t); len(charges) != 2 {
		t.Errorf("the provider captured %v, want 20000 twice", charges)
	}
}

func TestCardRefund_IsMadeWhenALostRowHadItsNumber(t *testing.T) {
	t.Parallel()
	lost, restored := startTwoIncarnations(t)
	for _, shop := range []cardShop{lost, restored} {
		o, p := mustBuyByCard(t, shop.Service, "tea", 2, "pm_card_visa")
		r := e2e.Want[e2e.Refund](t, shop.Service, http.StatusOK, shop.RefundCall(shop.AdminToken(t), o.ID, "50.00"))
		if p.ID != 1 || r.ID != 1 {
			t.Fatalf("payment %d, refund %d; the numbers must be those of the other database", p.ID, r.ID)
		}
		if got := awaitRefundSettled(t, shop.Service, r); got != "succeeded" {
			t.Errorf("the refund is %s, want succeeded", got)
		}
	}
	if refunds := restored.provider.refunds(t); len(refunds) != 2 {
		t.Errorf("the provider refunded %v, want 5000 twice", refunds)
	}
}

// A webhook about a payment of the lost database decides nothing about the payment
// that has its number now.
func TestWebhook_AboutALostRowIsIgnored(t *testing.T) {
	t.Parallel()
	lost, restored := startTwoIncarnations(t)
	mustBuyByCard(t, lost.Service, "tea", 2, "pm_card_visa")
	release := restored.provider.refuseCalls()
	o := restored.MustCreateOrder(t, e2e.Alice, "tea", 2)
	p := restored.MustPayByCard(t, o.ID, "pm_card_visa")

	restored.provider.SendTo(restored.URL + "/webhooks/stripe")
	if err := restored.provider.Deliver(t.Context()); err != nil {
		t.Errorf("the webhooks of the lost payment: %v", err)
	}

	restored.WantOrderStatus(t, o.ID, "payment_processing")
	release()
	if got := awaitSettled(t, restored.Service, p).Status; got != "captured" {
		t.Errorf("the payment is %s, want captured", got)
	}
	if charges := restored.provider.intents(t); len(charges) != 2 {
		t.Errorf("the provider captured %v, want 20000 twice", charges)
	}
}

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
