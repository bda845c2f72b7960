package commands_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
)

// stateCommands are the commands on an order that depend on its status, and the
// statuses in which they are allowed.
var stateCommands = map[string]struct {
	allowed []order.Status
	call    func(t testing.TB, s *e2e.Service, orderID int) e2e.Call
}{
	"reserve": {[]order.Status{order.PendingPayment}, func(t testing.TB, s *e2e.Service, id int) e2e.Call {
		t.Helper()
		return s.ReserveCall(s.CustomerToken(t), id)
	}},
	"confirm": {[]order.Status{order.PendingPayment}, func(t testing.TB, s *e2e.Service, id int) e2e.Call {
		t.Helper()
		return s.ConfirmCall(t, e2e.Alice, id)
	}},
	"refund as the customer": {[]order.Status{order.Paid, order.Fulfilling}, func(t testing.TB, s *e2e.Service, id int) e2e.Call {
		t.Helper()
		return s.RefundCall(s.CustomerToken(t), id, "")
	}},
	"refund as an administrator": {
		[]order.Status{order.Paid, order.Fulfilling, order.Shipped, order.Delivered},
		func(t testing.TB, s *e2e.Service, id int) e2e.Call {
			t.Helper()
			return s.RefundCall(s.AdminToken(t), id, "")
		},
	},
	"cancel": {
		[]order.Status{order.PendingPayment, order.Paid, order.Fulfilling},
		func(t testing.TB, s *e2e.Service, id int) e2e.Call {
			t.Helper()
			return s.CancelCall(s.CustomerToken(t), id)
		},
	},
	"fulfil":  {[]order.Status{order.Paid}, changeTo("fulfilling")},
	"ship":    {[]order.Status{order.Fulfilling}, changeTo("shipped")},
	"deliver": {[]order.Status{order.Shipped}, changeTo("delivered")},
}

func changeTo(status string) func(testing.TB, *e2e.Service, int) e2e.Call {
	return func(t testing.TB, s *e2e.Service, id int) e2e.Call {
		t.Helper()
		return e2e.StatusCall(s.SellerToken(t), id, status)
	}
}

// A command that a status does not allow is refused and changes nothing.
func TestCommands_AreRefusedInTheWrongStatus(t *testing.T) {
	t.Parallel()
	for name, command := range stateCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2e.StartShop(t, e2e.Stock{"tea": 100})
			s.Credit(t, e2e.Alice, "1000.00")
			for status := range order.Transitions {
				before := s.MustCreateOrderIn(t, status, e2e.Alice, "tea")
				r := s.Send(t, command.call(t, s, before.ID))
				if slices.Contains(command.allowed, status) {
					if r.Status != http.StatusOK {
						t.Errorf("%s: %d %s, want 200", status, r.Status, r.Body)
					}
					continue
				}
				if r.Verdict() != "409 invalid_order_state" {
					t.Errorf("%s: %s, want 409 invalid_order_state", status, r.Verdict())
				}
				if diff := cmp.Diff(before, s.ReadOrder(t, before.ID)); diff != "" {
					t.Errorf("%s: the refused command changed the order (-before +after):\n%s", status, diff)
				}
			}
		})
	}
}

func TestUpdateOrderStatus_FollowsTransitions(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 100})
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	for i, status := range []string{"fulfilling", "shipped", "delivered"} {
		token := s.SellerToken(t)
		if status == "shipped" {
			token = s.AdminToken(t)
		}
		changed := e2e.Want[e2e.Order](t, s, http.StatusOK, e2e.StatusCall(token, o.ID, status))
		if changed.Status != status || changed.Version != o.Version+i+1 || changed.Reservation != nil {
			t.Errorf("changed to %s, the order is %+v", status, changed)
		}
	}
	s.WantStock(t, "tea", 99, 0)
	for _, status := range []string{"paid", "pending_payment", "payment_processing", "cancelled", "lost"} {
		s.WantProblem(t, http.StatusUnprocessableEntity, "validation_failed", e2e.StatusCall(s.SellerToken(t), o.ID, status))
	}
	s.WantProblem(t, http.StatusNotFound, "not_found", e2e.StatusCall(s.SellerToken(t), 1<<40, "shipped"))
}
