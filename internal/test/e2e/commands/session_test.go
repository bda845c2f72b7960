package commands_test

import (
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// The main use of the service, as a client sees it.
func TestConfirmPayment_PaysOrderOnce(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", 10)
	s.Credit(t, e2e.Alice, "500.00")

	o := s.MustCreateOrder(t, e2e.Alice, "tea", 2)
	if o.Status != "pending_payment" || o.Total != e2e.Roubles("200.00") || o.Reservation == nil || o.SellerID != e2e.Shop {
		t.Errorf("the new order is %+v", o)
	}
	s.WantStock(t, "tea", 10, 2)

	pay := s.ConfirmCall(t, e2e.Alice, o.ID)
	first := s.Send(t, pay)
	replay := s.Send(t, pay)
	if first.Status != http.StatusOK || !replay.SameAs(first) {
		t.Errorf("paid: %d %s\nreplay: %d %s", first.Status, first.Body, replay.Status, replay.Body)
	}
	if got := replay.Header.Get("Idempotency-Result"); got != "reused" || !replay.Replayed() {
		t.Errorf("the headers of the replay are %v", replay.Header)
	}
	s.WantBalance(t, e2e.Alice, "300.00")
	s.WantStock(t, "tea", 8, 0)
	if n := s.Count(t, "SELECT count(*) FROM payment WHERE order_id = $1", o.ID); n != 1 {
		t.Errorf("%d payments, want 1", n)
	}
}
