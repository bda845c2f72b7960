package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/clients"
	"example.com/orders/lab/faults/world"
)

// cardlessFaults are replicas with different settings.
var cardlessFaults = []Fault{
	{
		Name: "one-replica-without-cards", Number: "F16",
		Needs:    world.Needs{OneWithoutCards: true},
		Verdicts: []string{"422 payment_method_unavailable"},
		Strike:   leaveCardsToOther,
		Proof: []string{
			"cards refused", "webhooks refused", "jobs rescued by a replica without cards", "payments settled by the other replica",
		},
	},
}

// leaveCardsToOther kills the replica with cards while it settles a payment. The one
// without must return the job to the queue. It must neither work on it nor discard it.
func leaveCardsToOther(t testing.TB, l *clients.Load, _ *rand.Rand) {
	t.Helper()
	with, without := l.Replicas[0], l.Replicas[1]
	refused := l.CardCall(t, l.NewOrder(t, without).ID, "pm_card_visa")
	l.ServiceAt(without).WantProblem(t, http.StatusUnprocessableEntity, "payment_method_unavailable", refused)
	l.Counters.Add("cards refused", 1)
	l.ServiceAt(without).WantProblem(t, http.StatusNotFound, "not_found", e2e.WebhookCall(`{}`, ""))
	l.Counters.Add("webhooks refused", 1)

	o := l.NewOrder(t, with)
	p, release := holdCharge(t, l, with, o)
	with.Process.Kill()
	release()
	job := `FROM river.river_job WHERE kind = 'settle_payment' AND args->>'id' = $1`
	l.Exec(t, `DELETE FROM river.river_leader`) // instead of waiting for the leader's lease to end
	l.Exec(t, `UPDATE river.river_job SET attempted_at = now() - interval '1 hour' WHERE state = 'running'`)
	e2e.Eventually(t, "the job is put back", func() bool {
		return l.Count(t, `SELECT count(*) `+job+` AND state IN ('available', 'retryable')`, fmt.Sprint(p.ID)) == 1
	})
	l.Counters.Add("jobs rescued by a replica without cards", 1)
	l.AwaitAttempts(t, clients.Pause)
	if got := l.PaymentStatus(t, p); got != "processing" {
		t.Errorf("payment %d is %s before the replica with cards is back", p.ID, got)
	}

	with.Start(t)
	l.AwaitPayment(t, p, "captured")
	l.WantCharges(t, p, 1)
	l.Provider.ReleaseWebhooks()
	l.Counters.Add("payments settled by the other replica", 1)
}

// holdCharge pays an order by card. It returns when the provider has charged the card
// but not answered. release breaks the connection.
func holdCharge(t testing.TB, l *clients.Load, by *world.Replica, o e2e.Order) (p e2e.Payment, release func()) {
	t.Helper()
	called, isCalled := e2e.NewSignal()
	released, releaseCalls := e2e.NewSignal()
	l.Provider.HoldWebhooks() // they would settle the payment
	l.Provider.SetHook(func(w http.ResponseWriter, r *http.Request, double http.Handler) {
		if !isAbout(r, o) {
			double.ServeHTTP(w, r)
			return
		}
		work(r, double)
		isCalled()
		<-released
		panic(http.ErrAbortHandler)
	})
	p = l.ServiceAt(by).MustPayByCard(t, o.ID, "pm_card_visa")
	e2e.Receive(t, called, "the provider is called")
	return p, func() {
		l.Provider.SetHook(nil)
		releaseCalls()
	}
}
