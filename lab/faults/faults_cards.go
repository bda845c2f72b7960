package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// cardlessFaults are replicas with different settings.
var cardlessFaults = []Fault{
	{
		Name: "one-replica-without-cards", Number: "F16",
		Needs:    Needs{OneWithoutCards: true},
		Verdicts: []string{"422 payment_method_unavailable"},
		Strike:   leaveCardsToOther,
		Proof: []string{
			"cards refused", "webhooks refused", "jobs rescued by a replica without cards", "payments settled by the other replica",
		},
	},
}

// leaveCardsToOther kills the replica with cards while it settles a payment. The one
// without must return the job to the queue. It must neither work on it nor discard it.
func leaveCardsToOther(t testing.TB, s *System, _ *rand.Rand) {
	t.Helper()
	with, without := s.Replicas[0], s.Replicas[1]
	refused := s.CardCall(t, s.newOrder(t, without).ID, "pm_card_visa")
	s.service(without).WantProblem(t, http.StatusUnprocessableEntity, "payment_method_unavailable", refused)
	s.Counters.Add("cards refused", 1)
	s.service(without).WantProblem(t, http.StatusNotFound, "not_found", e2e.WebhookCall(`{}`, ""))
	s.Counters.Add("webhooks refused", 1)

	o := s.newOrder(t, with)
	p, release := s.holdCharge(t, with, o)
	with.process.Kill()
	release()
	job := `FROM river.river_job WHERE kind = 'settle_payment' AND args->>'id' = $1`
	s.Exec(t, `DELETE FROM river.river_leader`) // instead of waiting for the leader's lease to end
	s.Exec(t, `UPDATE river.river_job SET attempted_at = now() - interval '1 hour' WHERE state = 'running'`)
	e2e.Eventually(t, "the job is put back", func() bool {
		return s.Count(t, `SELECT count(*) `+job+` AND state IN ('available', 'retryable')`, fmt.Sprint(p.ID)) == 1
	})
	s.Counters.Add("jobs rescued by a replica without cards", 1)
	s.awaitAttempts(t, pause)
	if got := s.paymentStatus(t, p); got != "processing" {
		t.Errorf("payment %d is %s before the replica with cards is back", p.ID, got)
	}

	with.Start(t)
	s.awaitPayment(t, p, "captured")
	s.wantCharges(t, p, 1)
	s.Provider.ReleaseWebhooks()
	s.Counters.Add("payments settled by the other replica", 1)
}

// holdCharge pays an order by card. It returns when the provider has charged the card
// but not answered. release breaks the connection.
func (s *System) holdCharge(t testing.TB, by *Replica, o e2e.Order) (p e2e.Payment, release func()) {
	t.Helper()
	called, isCalled := e2e.NewSignal()
	released, releaseCalls := e2e.NewSignal()
	s.Provider.HoldWebhooks() // they would settle the payment
	s.Provider.SetHook(func(w http.ResponseWriter, r *http.Request, double http.Handler) {
		if !isAbout(r, o) {
			double.ServeHTTP(w, r)
			return
		}
		work(r, double)
		isCalled()
		<-released
		panic(http.ErrAbortHandler)
	})
	p = s.service(by).MustPayByCard(t, o.ID, "pm_card_visa")
	e2e.Receive(t, called, "the provider is called")
	return p, func() {
		s.Provider.SetHook(nil)
		releaseCalls()
	}
}
