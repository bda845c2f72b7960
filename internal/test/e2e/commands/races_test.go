package commands_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"example.com/orders/internal/test/e2e"
)

// raceRounds is how often each race is run, so that either side may win.
const raceRounds = 30

// tally counts how the rounds of a race ended.
type tally map[string]int

// add counts a round by the verdicts of its responses, and returns them.
func (ends tally) add(replies ...e2e.Reply) string {
	var verdicts []string
	for _, r := range replies {
		verdicts = append(verdicts, r.Verdict())
	}
	end := fmt.Sprint(verdicts)
	ends[end]++
	return end
}

// log shows whether there was a race at all.
func (ends tally) log(t testing.TB) {
	t.Helper()
	t.Logf("the rounds ended as %v", map[string]int(ends))
}

// wantOneOf checks a response against those that the race allows.
func wantOneOf(t testing.TB, what string, r e2e.Reply, verdicts ...string) {
	t.Helper()
	if !slices.Contains(verdicts, r.Verdict()) {
		t.Errorf("%s: %s, want one of %q: %s", what, r.Verdict(), verdicts, r.Body)
	}
}

func TestRefundPayment_ConcurrentRefundsStayWithinPayment(t *testing.T) {
	t.Parallel()
	a, b := e2e.StartTwoReplicas(t, e2e.Stock{"tea": 1000})
	for range raceRounds {
		o := a.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
		var refunds []e2e.Request
		for i := range 10 {
			refunds = append(refunds, []*e2e.Service{a, b}[i%2].Request(a.RefundCall(a.CustomerToken(t), o.ID, "30.00")))
		}
		refunded := 0
		for _, r := range e2e.SendTogether(t, refunds...) {
			wantOneOf(t, "a refund", r, "200", "409 refund_exceeds_payment")
			if r.Status == http.StatusOK {
				refunded++
			}
		}
		if refunded != 3 {
			t.Errorf("%d refunds of 30 of a payment of 100 succeeded, want 3", refunded)
		}
		if p := a.ReadPayments(t, o.ID)[0]; p.Refunded.Amount != "90.00" || len(p.Refunds) != 3 {
			t.Errorf("the payment is %+v", p)
		}
	}
	a.WantBalance(t, e2e.Alice, fmt.Sprintf("%d.00", 90*raceRounds))
}

func TestCancelOrder_RacesConfirmPayment(t *testing.T) {
	t.Parallel()
	a, b := e2e.StartTwoReplicas(t, e2e.Stock{"tea": 10})
	a.Credit(t, e2e.Alice, "100.00")
	ends := tally{}
	for range raceRounds {
		o := a.MustCreateOrder(t, e2e.Alice, "tea", 1)
		r := e2e.SendTogether(t, a.Request(a.CancelCall(a.CustomerToken(t), o.ID)), b.Request(a.ConfirmCall(t, e2e.Alice, o.ID)))
		ends.add(r...)
		wantOneOf(t, "cancel", r[0], "200") // what has been paid can still be cancelled
		wantOneOf(t, "confirm", r[1], "200", "409 invalid_order_state")
		a.WantOrderStatus(t, o.ID, "cancelled")
		a.WantStock(t, "tea", 10, 0)
		a.WantBalance(t, e2e.Alice, "100.00")
	}
	ends.log(t)
}

// The reservation expires while the order is paid and expired reservations are
// released: either the order is paid and its unit sold, or the payment is refused and
// the unit free.
func TestConfirmPayment_RacesExpiryOfReservation(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1})
	s.Credit(t, e2e.Alice, "100.00")
	ends := tally{}
	for round := range raceRounds {
		o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
		// The first rounds come too late and the last in time for certain; those
		// between may end either way.
		left := time.Duration(round-3) * time.Millisecond
		if round >= raceRounds-3 {
			left = time.Minute
		}
		stop := s.KeepReleasing(t)
		s.Exec(t, "UPDATE orders SET reserved_until = clock_timestamp() + $2::interval WHERE id = $1", o.ID, left)
		r := e2e.SendTogether(t, s.Request(s.ConfirmCall(t, e2e.Alice, o.ID)))[0]
		stop()
		ends.add(r)
		switch r.Verdict() {
		case "200":
			if left < 0 {
				t.Errorf("round %d: paid %s after the reservation expired", round, -left)
			}
			s.WantOrderStatus(t, o.ID, "paid")
			s.WantStock(t, "tea", 0, 0)
			e2e.Want[e2e.Order](t, s, http.StatusOK, s.CancelCall(s.CustomerToken(t), o.ID))
		case "409 reservation_expired":
			s.ReleaseExpiredReservations(t)
			s.WantOrderStatus(t, o.ID, "pending_payment")
			s.WantStock(t, "tea", 1, 0)
		default:
			t.Errorf("confirm: %s", r.Body)
		}
		s.WantStock(t, "tea", 1, 0)
		s.WantBalance(t, e2e.Alice, "100.00")
	}
	ends.log(t)
	if len(ends) != 2 {
		t.Errorf("all rounds ended the same way: %v", ends)
	}
}

func TestReserveInventory_RacesExpiryOfReservation(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1}, "ORDERS_RESERVATION_EXTENSIONS=0")
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	for round := range raceRounds {
		stop := s.KeepReleasing(t)
		s.Exec(t, "UPDATE orders SET reserved_until = clock_timestamp() + $2::interval WHERE id = $1", o.ID,
			time.Duration(round-10)*time.Millisecond)
		r := e2e.SendTogether(t, s.Request(s.ReserveCall(s.CustomerToken(t), o.ID)))[0]
		stop()
		wantOneOf(t, "reserve", r, "200") // the unit is there, reserved or released
		s.WantStock(t, "tea", 1, 1)
		if o := s.ReadOrder(t, o.ID); o.Reservation == nil {
			t.Errorf("reserved, the order is %+v", o)
		}
	}
}

func TestRefundPayment_RacesCancelOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		amount  string
		allowed []string // cancel, then refund
	}{
		"in part": {"30.00", []string{"[200 200]", "[200 409 refund_exceeds_payment]"}},
		"in full": {"", []string{"[200 409 refund_exceeds_payment]", "[409 invalid_order_state 200]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := e2e.StartTwoReplicas(t, e2e.Stock{"tea": 10})
			ends := tally{}
			for round := 1; round <= raceRounds; round++ {
				o := a.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
				r := e2e.SendTogether(t, a.Request(a.CancelCall(a.CustomerToken(t), o.ID)), b.Request(a.RefundCall(a.CustomerToken(t), o.ID, c.amount)))
				if end := ends.add(r...); !slices.Contains(c.allowed, end) {
					t.Errorf("ended as %s, want one of %q", end, c.allowed)
				}
				a.WantOrderStatus(t, o.ID, "cancelled")
				a.WantStock(t, "tea", 10, 0)
				a.WantBalance(t, e2e.Alice, fmt.Sprintf("%d.00", 100*round))
			}
			ends.log(t)
		})
	}
}

func TestCancelOrder_RacesReserveInventory(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]bool{"while it is reserved": false, "after it was released": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := e2e.StartTwoReplicas(t, e2e.Stock{"tea": 10})
			ends := tally{}
			for range raceRounds {
				o := a.MustCreateOrder(t, e2e.Alice, "tea", 1)
				if released {
					a.ExpireReservation(t, o.ID)
					a.ReleaseExpiredReservations(t)
				}
				r := e2e.SendTogether(t, a.Request(a.CancelCall(a.CustomerToken(t), o.ID)), b.Request(a.ReserveCall(a.SystemToken(t), o.ID)))
				ends.add(r...)
				wantOneOf(t, "cancel", r[0], "200")
				wantOneOf(t, "reserve", r[1], "200", "409 invalid_order_state")
				a.WantOrderStatus(t, o.ID, "cancelled")
				a.WantStock(t, "tea", 10, 0)
			}
			ends.log(t)
		})
	}
}

// Two people of the seller change the status while the customer cancels: each change
// happens once, and an order that is shipped is not cancelled.
func TestUpdateOrderStatus_RacesCancelOrder(t *testing.T) {
	t.Parallel()
	for next, c := range map[string]struct {
		from    string
		allowed []string // two status changes, then cancel
	}{
		"fulfilling": {"paid", []string{
			"[200 409 invalid_order_state 200]", "[409 invalid_order_state 200 200]", "[409 invalid_order_state 409 invalid_order_state 200]",
		}},
		"shipped": {"fulfilling", []string{
			"[200 409 invalid_order_state 409 invalid_order_state]", "[409 invalid_order_state 200 409 invalid_order_state]",
			"[409 invalid_order_state 409 invalid_order_state 200]",
		}},
	} {
		t.Run(next, func(t *testing.T) {
			t.Parallel()
			a, b := e2e.StartTwoReplicas(t, e2e.Stock{"tea": 1000})
			ends := tally{}
			for range raceRounds {
				o := a.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
				if c.from == "fulfilling" {
					e2e.Want[e2e.Order](t, a, http.StatusOK, e2e.StatusCall(a.SellerToken(t), o.ID, "fulfilling"))
				}
				r := e2e.SendTogether(t, a.Request(e2e.StatusCall(a.SellerToken(t), o.ID, next)), b.Request(e2e.StatusCall(a.SellerToken(t), o.ID, next)),
					b.Request(a.CancelCall(a.CustomerToken(t), o.ID)))
				if end := ends.add(r...); !slices.Contains(c.allowed, end) {
					t.Errorf("ended as %s, want one of %q", end, c.allowed)
				}
				status := next
				if r[2].Status == http.StatusOK {
					status = "cancelled"
				}
				a.WantOrderStatus(t, o.ID, status)
			}
			ends.log(t)
		})
	}
}
