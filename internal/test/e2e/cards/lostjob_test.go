package cards_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/orders/internal/test/e2e"
)

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
