package commands_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
)

// cancellation is an order and who cancels it: the customer, unless role says
// otherwise.
type cancellation struct {
	status order.Status
	role   string
	// before changes the order before it is cancelled.
	before func(t testing.TB, s *e2e.Service, orderID int)
	// refunds are the refunds of its payment in the end, newest first, balance what Alice has.
	refunds []string
	balance string
}

var cancellations = map[string]cancellation{
	"pending":                     {status: order.PendingPayment},
	"pending, by the seller":      {status: order.PendingPayment, role: "seller"},
	"reservation expired":         {status: order.PendingPayment, before: expireReservation},
	"reservation released":        {status: order.PendingPayment, before: releaseReservation},
	"paid":                        {status: order.Paid, refunds: []string{"200.00"}, balance: "200.00"},
	"paid, by an administrator":   {status: order.Paid, role: "admin", refunds: []string{"200.00"}, balance: "200.00"},
	"fulfilling":                  {status: order.Fulfilling, refunds: []string{"200.00"}, balance: "200.00"},
	"fulfilling, by the seller":   {status: order.Fulfilling, role: "seller", refunds: []string{"200.00"}, balance: "200.00"},
	"paid, partly refunded":       {status: order.Paid, before: refundPart, refunds: []string{"150.10", "49.90"}, balance: "200.00"},
	"fulfilling, partly refunded": {status: order.Fulfilling, before: refundPart, refunds: []string{"150.10", "49.90"}, balance: "200.00"},
}

func expireReservation(t testing.TB, s *e2e.Service, orderID int) {
	t.Helper()
	s.ExpireReservation(t, orderID)
}

func releaseReservation(t testing.TB, s *e2e.Service, orderID int) {
	t.Helper()
	s.ExpireReservation(t, orderID)
	s.ReleaseExpiredReservations(t)
}

func refundPart(t testing.TB, s *e2e.Service, orderID int) {
	t.Helper()
	e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(s.CustomerToken(t), orderID, "49.90"))
}

func TestCancelOrder_ReturnsStockAndMoney(t *testing.T) {
	t.Parallel()
	for name, c := range cancellations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2e.StartShop(t, e2e.Stock{"tea": 10})
			o := s.MustCreateOrderIn(t, c.status, e2e.Alice, "tea")
			if c.before != nil {
				c.before(t, s, o.ID)
			}
			token := s.CustomerToken(t)
			switch c.role {
			case "seller":
				token = s.SellerToken(t)
			case "admin":
				token = s.AdminToken(t)
			}

			cancelled := e2e.Want[e2e.Order](t, s, http.StatusOK, s.CancelCall(token, o.ID))

			if cancelled.Status != "cancelled" || cancelled.Reservation != nil {
				t.Errorf("cancelled, the order is %+v", cancelled)
			}
			s.WantStock(t, "tea", 10, 0)
			if diff := cmp.Diff(c.refunds, refundAmounts(s.ReadPayments(t, o.ID))); diff != "" {
				t.Errorf("refunds (-want +got):\n%s", diff)
			}
			s.WantBalance(t, e2e.Alice, c.balance)
			if c.role == "admin" {
				wantLastAuditEntry(t, s, e2e.Root, "CancelOrder", fmt.Sprintf("order/%d", o.ID))
			}
			s.WantProblem(t, http.StatusConflict, "invalid_order_state", s.CancelCall(token, o.ID))
			s.ReleaseExpiredReservations(t)
			s.WantStock(t, "tea", 10, 0)
		})
	}
}

func refundAmounts(payments []e2e.Payment) (amounts []string) {
	for _, p := range payments {
		for _, r := range p.Refunds {
			amounts = append(amounts, r.Amount.Amount)
		}
	}
	return amounts
}

func TestCancelOrder_PassesReasonToRefund(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	cancel := s.CancelCall(s.CustomerToken(t), o.ID)
	first, replay := s.Send(t, cancel), s.Send(t, cancel)
	if first.Status != http.StatusOK || !replay.SameAs(first) {
		t.Errorf("cancelled: %d %s\nreplay: %d %s", first.Status, first.Body, replay.Status, replay.Body)
	}
	if p := s.ReadPayments(t, o.ID)[0]; len(p.Refunds) != 1 || p.Refunds[0].Reason != "changed my mind" {
		t.Errorf("the payment is %+v", p)
	}
}
