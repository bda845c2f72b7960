package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// raceRounds is how often each race is run: whoever wins differs.
const raceRounds = 30

// tally counts how the rounds of a race ended.
type tally map[string]int

// add counts a round by the verdicts of its answers, and gives them.
func (c tally) add(replies ...reply) string {
	var verdicts []string
	for _, r := range replies {
		verdicts = append(verdicts, r.verdict())
	}
	end := fmt.Sprint(verdicts)
	c[end]++
	return end
}

// tell shows the reader whether there was a race at all.
func (c tally) tell(t testing.TB) {
	t.Helper()
	t.Logf("the rounds ended as %v", map[string]int(c))
}

func (s *service) orderIs(orderID int, status string) {
	s.Helper()
	if got := s.readOrder(orderID).Status; got != status {
		s.Errorf("the order is %s, want %s", got, status)
	}
}

func (s *service) balanceIs(customer, amount string) {
	s.Helper()
	if got := s.balance(customer); got != amount {
		s.Errorf("the balance is %s, want %s", got, amount)
	}
}

// oneOf checks an answer against those that the race may give.
func oneOf(t testing.TB, what string, r reply, verdicts ...string) {
	t.Helper()
	if !slices.Contains(verdicts, r.verdict()) {
		t.Errorf("%s: %s, want one of %q: %s", what, r.verdict(), verdicts, r.body)
	}
}

func TestTenRefundsAtOnceGiveBackNoMoreThanWasPaid(t *testing.T) {
	t.Parallel()
	a, b := twoReplicas(t, shelf{"tea": 1000})
	for range raceRounds {
		o := a.boughtOrder(alice, "tea", 1)
		var shots []shot
		for i := range 10 {
			shots = append(shots, shot{[]*service{a, b}[i%2], a.refundCall(a.asCustomer(), o.ID, "30.00")})
		}
		refunded := 0
		for _, r := range together(t, shots...) {
			oneOf(t, "a refund", r, "200", "409 refund_exceeds_payment")
			if r.status == http.StatusOK {
				refunded++
			}
		}
		if refunded != 3 {
			t.Errorf("%d refunds of 30 of a payment of 100 succeeded, want 3", refunded)
		}
		if p := a.readPayments(o.ID)[0]; p.Refunded.Amount != "90.00" || len(p.Refunds) != 3 {
			t.Errorf("the payment is %+v", p)
		}
	}
	if got := a.balance(alice); got != fmt.Sprintf("%d.00", 90*raceRounds) {
		t.Errorf("the balance is %s, want %d times 90.00", got, raceRounds)
	}
}

func TestCancelAgainstConfirm(t *testing.T) {
	t.Parallel()
	a, b := twoReplicas(t, shelf{"tea": 10})
	a.credit(alice, "100.00")
	ends := tally{}
	for range raceRounds {
		o := a.order(alice, "tea", 1)
		r := together(t, shot{a, a.cancelCall(a.asCustomer(), o.ID)}, shot{b, a.confirmCall(alice, o.ID, a.newKey())})
		ends.add(r...)
		oneOf(t, "cancel", r[0], "200") // what has been paid can still be cancelled
		oneOf(t, "confirm", r[1], "200", "409 invalid_order_state")
		a.orderIs(o.ID, "cancelled")
		a.stockIs("tea", 10, 0)
		a.balanceIs(alice, "100.00")
	}
	ends.tell(t)
}

// The hold ends while the confirmation is under way and the job is at work: either the
// order is paid and its unit sold, or the confirmation is told, and the unit is free.
func TestConfirmAgainstExpiry(t *testing.T) {
	t.Parallel()
	a, b := twoReplicas(t, shelf{"tea": 1})
	a.credit(alice, "100.00")
	ends := tally{}
	for round := range raceRounds {
		o := a.order(alice, "tea", 1)
		// From over to well ahead: the first rounds are lost and the last are won for
		// certain, those between may end either way.
		left := time.Duration(round-3) * time.Millisecond
		if round >= raceRounds-3 {
			left = time.Minute
		}
		a.exec("UPDATE orders SET reserved_until = clock_timestamp() + $2::interval WHERE id = $1", o.ID, left)
		stop := a.keepReleasing(b)
		r := together(t, shot{a, a.confirmCall(alice, o.ID, a.newKey())})[0]
		stop()
		ends.add(r)
		switch r.verdict() {
		case "200":
			if left < 0 {
				t.Errorf("round %d: paid %s after the hold was over", round, -left)
			}
			a.orderIs(o.ID, "paid")
			a.stockIs("tea", 0, 0)
			want[orderBody](a, http.StatusOK, a.cancelCall(a.asCustomer(), o.ID))
		case "409 reservation_expired":
			a.releaseReservations()
			a.orderIs(o.ID, "pending_payment")
			a.stockIs("tea", 1, 0)
		default:
			t.Errorf("confirm: %s", r.body)
		}
		a.stockIs("tea", 1, 0)
		a.balanceIs(alice, "100.00")
	}
	ends.tell(t)
	if len(ends) != 2 {
		t.Errorf("all rounds ended alike: %v", ends)
	}
}

// keepReleasing works on lapsed holds on two replicas at once, over and over, until the
// function that it gives is called.
func (s *service) keepReleasing(other *service) (stop func()) {
	over := make(chan struct{})
	var workers sync.WaitGroup
	for _, replica := range []*service{s, other} {
		holds := replica.holds()
		workers.Go(func() {
			for {
				if _, err := holds.ReleaseExpiredReservations(s.Context(), 10); err != nil {
					s.Errorf("release holds: %v", err)
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	return func() { close(over); workers.Wait() }
}

func TestReserveInventoryAgainstExpiry(t *testing.T) {
	t.Parallel()
	a, b := twoReplicas(t, shelf{"tea": 1})
	o := a.order(alice, "tea", 1)
	for round := range raceRounds {
		a.exec("UPDATE orders SET reserved_until = clock_timestamp() + $2::interval WHERE id = $1", o.ID,
			time.Duration(round-10)*time.Millisecond)
		stop := a.keepReleasing(b)
		r := together(t, shot{a, a.reserveCall(a.asCustomer(), o.ID)})[0]
		stop()
		oneOf(t, "reserve", r, "200") // the unit is there, held or free
		a.stockIs("tea", 1, 1)
		if o := a.readOrder(o.ID); o.Reservation == nil {
			t.Errorf("reserved, the order is %+v", o)
		}
	}
}

func TestRefundAgainstCancel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		amount  string
		allowed []string // cancel, then refund
	}{
		"a part":   {"30.00", []string{"[200 200]", "[200 409 refund_exceeds_payment]"}},
		"the rest": {"", []string{"[200 409 refund_exceeds_payment]", "[409 invalid_order_state 200]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := twoReplicas(t, shelf{"tea": 10})
			ends := tally{}
			for round := 1; round <= raceRounds; round++ {
				o := a.boughtOrder(alice, "tea", 1)
				r := together(t, shot{a, a.cancelCall(a.asCustomer(), o.ID)}, shot{b, a.refundCall(a.asCustomer(), o.ID, c.amount)})
				if end := ends.add(r...); !slices.Contains(c.allowed, end) {
					t.Errorf("ended as %s, want one of %q", end, c.allowed)
				}
				a.orderIs(o.ID, "cancelled")
				a.stockIs("tea", 10, 0)
				a.balanceIs(alice, fmt.Sprintf("%d.00", 100*round))
			}
			ends.tell(t)
		})
	}
}

func TestCancelAgainstReserveInventory(t *testing.T) {
	t.Parallel()
	for name, lapsed := range map[string]bool{"while the hold lives": false, "after it was freed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := twoReplicas(t, shelf{"tea": 10})
			ends := tally{}
			for range raceRounds {
				o := a.order(alice, "tea", 1)
				if lapsed {
					a.expireReservation(o.ID)
					a.releaseReservations()
				}
				r := together(t, shot{a, a.cancelCall(a.asCustomer(), o.ID)}, shot{b, a.reserveCall(a.asSystem(), o.ID)})
				ends.add(r...)
				oneOf(t, "cancel", r[0], "200")
				oneOf(t, "reserve", r[1], "200", "409 invalid_order_state")
				a.orderIs(o.ID, "cancelled")
				a.stockIs("tea", 10, 0)
			}
			ends.tell(t)
		})
	}
}

// Two people of the seller press the same button while the customer cancels: each step
// is made once, and goods that are shipped are not cancelled.
func TestStatusChangesAgainstCancel(t *testing.T) {
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
			a, b := twoReplicas(t, shelf{"tea": 1000})
			ends := tally{}
			for range raceRounds {
				o := a.boughtOrder(alice, "tea", 1)
				if c.from == "fulfilling" {
					want[orderBody](a, http.StatusOK, statusCall(a.asSeller(), o.ID, "fulfilling"))
				}
				r := together(t, shot{a, statusCall(a.asSeller(), o.ID, next)}, shot{b, statusCall(a.asSeller(), o.ID, next)},
					shot{b, a.cancelCall(a.asCustomer(), o.ID)})
				if end := ends.add(r...); !slices.Contains(c.allowed, end) {
					t.Errorf("ended as %s, want one of %q", end, c.allowed)
				}
				status := next
				if r[2].status == http.StatusOK {
					status = "cancelled"
				}
				a.orderIs(o.ID, status)
			}
			ends.tell(t)
		})
	}
}

// One key, two replicas, one moment: one effect, and both clients get the same bytes.
func TestOneKeyOnTwoReplicas(t *testing.T) {
	t.Parallel()
	for command, ask := range map[string]func(s *service) call{
		"CreateOrder":      func(s *service) call { return s.orderCall(alice, "tea", 1, s.newKey()) },
		"ReserveInventory": func(s *service) call { return s.reserveCall(s.asCustomer(), s.order(alice, "tea", 1).ID) },
		"ConfirmPayment":   func(s *service) call { return s.confirmCall(alice, s.order(alice, "tea", 1).ID, s.newKey()) },
		"RefundPayment": func(s *service) call {
			return s.refundCall(s.asCustomer(), s.boughtOrder(alice, "tea", 1).ID, "30.00")
		},
		"CancelOrder":   func(s *service) call { return s.cancelCall(s.asCustomer(), s.boughtOrder(alice, "tea", 1).ID) },
		"CreditBalance": func(s *service) call { return s.creditCall(alice, "1.00", s.newKey()) },
		"ChargeBalance": func(s *service) call {
			c := s.creditCall(alice, "1.00", s.newKey())
			c.path = "/customers/alice/balance/charge"
			return c
		},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			a, b := twoReplicas(t, shelf{"tea": 1000})
			a.credit(alice, "10000.00")
			for range raceRounds {
				c := ask(a)
				records := a.count("SELECT count(*) FROM idempotency_record")
				r := together(t, shot{a, c}, shot{b, c})
				if r[0].status/100 != 2 || r[0].status != r[1].status || string(r[0].body) != string(r[1].body) {
					t.Errorf("two answers to one key:\n%d %s\n%d %s", r[0].status, r[0].body, r[1].status, r[1].body)
				}
				results := []string{r[0].header.Get("Idempotency-Result"), r[1].header.Get("Idempotency-Result")}
				slices.Sort(results)
				if !slices.Equal(results, []string{"created", "reused"}) {
					t.Errorf("Idempotency-Result: %q", results)
				}
				if n := a.count("SELECT count(*) FROM idempotency_record") - records; n != 1 {
					t.Errorf("%d records, want 1", n)
				}
			}
		})
	}
}
