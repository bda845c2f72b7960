package cards_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
	"example.com/orders/internal/test/e2e"
	testlog "example.com/orders/internal/test/log"
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

// dropResponses lets the provider do what it is asked, and loses all its responses. It
// returns a channel that is closed when the first one is lost.
func (p *provider) dropResponses() <-chan struct{} {
	dropped, isDropped := e2e.NewSignal()
	p.SetHook(func(_ http.ResponseWriter, r *http.Request, stub http.Handler) {
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
	c := startCardShop(t, e2e.Stock{"tea": 5})
	stop := c.StartReplica(t, e2e.CardSettings(c.provider.URL)...).Run(t)
	o, _ := mustBuyByCard(t, c.Service, "tea", 2, "pm_card_visa")
	stop()
	r := e2e.Want[e2e.Refund](t, c.Service, http.StatusOK, c.RefundCall(c.AdminToken(t), o.ID, "50.00"))
	c.runUntilLost(t)
	c.loseJob(t, "settle_refund")

	c.Run(t)

	if got := awaitRefundSettled(t, c.Service, r); got != "succeeded" {
		t.Errorf("the refund is %s, want succeeded", got)
	}
	if refunds := c.provider.refunds(t); len(refunds) != 1 {
		t.Errorf("the provider refunded %v, want 5000 once", refunds)
	}
}
