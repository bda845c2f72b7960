package e2e_test

import (
	"net/http"
	"testing"
)

// One order, paid once: the main job, told as a client sees it.
func TestOneOrderPaidOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.putProduct("tea", 10)
	s.credit(alice, "500.00")

	o := s.order(alice, "tea", 2)
	if o.Status != "pending_payment" || o.Total != (money{"200.00", "RUB"}) || o.Reservation == nil || o.SellerID != shop {
		t.Errorf("the new order is %+v", o)
	}
	if p := s.product("tea"); p.Reserved != 2 || p.Available != 8 || p.OnHand != 10 {
		t.Errorf("after ordering, the product is %+v", p)
	}

	pay := s.confirmCall(alice, o.ID, s.newKey())
	first := s.send(pay)
	again := s.send(pay)
	if first.status != http.StatusOK || string(first.body) != string(again.body) || again.status != first.status {
		t.Errorf("paid: %d %s\nagain: %d %s", first.status, first.body, again.status, again.body)
	}
	if got := again.header.Get("Idempotency-Result") + " " + again.header.Get("Idempotent-Replayed"); got != "reused true" {
		t.Errorf("the replay says %q", got)
	}
	if got := s.balance(alice); got != "300.00" {
		t.Errorf("the balance is %s, want 300.00: the money moves once", got)
	}
	if p := s.product("tea"); p.Reserved != 0 || p.OnHand != 8 {
		t.Errorf("after paying, the product is %+v", p)
	}
	if n := s.count("SELECT count(*) FROM payment WHERE order_id = $1", o.ID); n != 1 {
		t.Errorf("%d payments, want 1", n)
	}
}
