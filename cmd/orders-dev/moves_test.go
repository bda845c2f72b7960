package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"example.com/orders/internal/dev/fakestripe"
	testwait "example.com/orders/internal/test/wait"
)

// buyByCard buys a packet of tea, and returns the path of the order when it is paid.
func (d *running) buyByCard(t *testing.T) (path string) {
	t.Helper()
	header := http.Header{
		"Authorization": {"Bearer " + d.token(t, "customer")}, "Content-Type": {"application/json"}, "Idempotency-Key": {"order"},
	}
	path = d.send(t, http.MethodPost, "/orders", header, `{"items": [{"sku": "tea", "quantity": 1}]}`).header.Get("Location")
	header.Set("Idempotency-Key", "payment")
	d.send(t, http.MethodPost, path+"/payment/confirm", header, `{"method": "card", "payment_method": "pm_card_visa"}`)
	testwait.Until(t, "the order is paid", func() bool {
		return strings.Contains(string(d.send(t, http.MethodGet, path, header, "").body), `"status":"paid"`)
	})
	return path
}

// shownPayment holds the shown members of an order's payment.
type shownPayment struct {
	Refunded struct{ Amount string }
	Dispute  struct{ Status string }
}

func (d *running) payment(t *testing.T, order string) shownPayment {
	t.Helper()
	var found struct{ Data []shownPayment }
	header := http.Header{"Authorization": {"Bearer " + d.token(t, "admin")}}
	if err := json.Unmarshal(d.send(t, http.MethodGet, order+"/payments", header, "").body, &found); err != nil || len(found.Data) != 1 {
		t.Fatalf("payments of %s: %v, %v", order, found, err)
	}
	return found.Data[0]
}

// wantMove makes a move at the card provider.
func (d *running) wantMove(t *testing.T, name string, status int) {
	t.Helper()
	if got := d.send(t, http.MethodPut, "/faults/"+name, nil, ""); got.status != status || len(got.body) == 0 {
		t.Fatalf("PUT /faults/%s: %d %s, want %d", name, got.status, got.body, status)
	}
}

// Each PUT moves money once more, unless the provider refuses.
func TestMoves_ConcernTheLatestPaymentAndDispute(t *testing.T) {
	t.Parallel()
	_, d := startFaults(t)
	d.wantMove(t, "refund", http.StatusConflict)
	d.wantMove(t, "dispute-lost", http.StatusConflict)
	order := d.buyByCard(t)

	for _, m := range []struct{ name, status string }{
		{"dispute", fakestripe.NeedsResponse}, {"dispute-lost", fakestripe.Lost}, {"dispute-won", fakestripe.Won},
	} {
		d.wantMove(t, m.name, http.StatusOK)
		testwait.Until(t, m.name+" is shown", func() bool { return d.payment(t, order).Dispute.Status == m.status })
	}
}

// While provider events are lost, the service hears of no refund.
func TestMoves_AreUnseenWithProviderEventsLost(t *testing.T) {
	t.Parallel()
	s, d := startFaults(t)
	order := d.buyByCard(t)

	d.wantMove(t, "provider-events", http.StatusOK)
	d.wantMove(t, "refund", http.StatusOK)
	d.wantMove(t, "refund", http.StatusConflict) // all money is back
	d.send(t, http.MethodDelete, "/faults/provider-events", nil, "")

	sent, err := s.stripe.Webhooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range sent {
		if strings.HasPrefix(w.Type, "refund.") {
			t.Errorf("%s was sent", w.Type)
		}
	}
	if p := d.payment(t, order); p.Refunded.Amount != "0.00" {
		t.Errorf("the payment shows %s refunded", p.Refunded.Amount)
	}
	d.wantMove(t, "dispute", http.StatusOK) // whose events arrive
	testwait.Until(t, "the dispute is shown", func() bool { return d.payment(t, order).Dispute.Status == fakestripe.NeedsResponse })
}
