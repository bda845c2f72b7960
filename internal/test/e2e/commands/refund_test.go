package commands_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
)

func TestRefundPayment_RefundsInParts(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	payment := s.ReadPayments(t, o.ID)[0].ID
	for i, part := range []struct {
		amount, refunded, balance, orderStatus string
		onHand                                 int
	}{
		{"30.00", "30.00", "30.00", "paid", 9},
		{"0.01", "0.01", "30.01", "paid", 9},
		{"", "69.99", "100.00", "cancelled", 10},
	} {
		r := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(s.CustomerToken(t), o.ID, part.amount))
		want := e2e.Refund{ID: r.ID, PaymentID: payment, OrderID: o.ID, Amount: e2e.Roubles(part.refunded), Status: "succeeded"}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("refund %d (-want +got):\n%s", i, diff)
		}
		if p := s.ReadPayments(t, o.ID)[0]; len(p.Refunds) != i+1 || p.Status != "captured" || p.Amount.Amount != "100.00" {
			t.Errorf("after refund %d the payment is %+v", i, p)
		}
		s.WantBalance(t, e2e.Alice, part.balance)
		s.WantOrderStatus(t, o.ID, part.orderStatus)
		s.WantStock(t, "tea", part.onHand, 0)
	}
	if p := s.ReadPayments(t, o.ID)[0]; p.Refunded != e2e.Roubles("100.00") {
		t.Errorf("in the end the payment is %+v", p)
	}
}

func TestRefundPayment_InFullCancelsOrderBeforeItIsShipped(t *testing.T) {
	t.Parallel()
	for status, want := range map[order.Status]struct {
		status string
		onHand int
	}{
		order.Paid:       {"cancelled", 10},
		order.Fulfilling: {"cancelled", 10},
		order.Shipped:    {"shipped", 8},
		order.Delivered:  {"delivered", 8},
	} {
		for _, amount := range []string{"200.00", ""} {
			t.Run(fmt.Sprintf("%s, amount %q", status, amount), func(t *testing.T) {
				t.Parallel()
				s := e2e.StartShop(t, e2e.Stock{"tea": 10})
				o := s.MustCreateOrderIn(t, status, e2e.Alice, "tea")
				r := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(s.AdminToken(t), o.ID, amount))
				if r.Amount.Amount != "200.00" {
					t.Errorf("the refund is %+v, want 200.00", r)
				}
				s.WantOrderStatus(t, o.ID, want.status)
				s.WantStock(t, "tea", want.onHand, 0)
				s.WantBalance(t, e2e.Alice, "200.00")
				wantLastAuditEntry(t, s, e2e.Root, "RefundPayment", fmt.Sprintf("order/%d", o.ID))
			})
		}
	}
}

func TestRefundPayment_Refusals(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	customer := s.CustomerToken(t)
	paid := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(customer, paid.ID, "60.00"))
	refunded := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(customer, refunded.ID, ""))
	shipped := s.MustCreateOrderIn(t, order.Shipped, e2e.Alice, "tea")
	unpaid := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	inCurrency := func(amount, currency string) e2e.Call {
		return s.OrderCommand(customer, paid.ID, "payment/refund",
			fmt.Sprintf(`{"amount": {"amount": %q, "currency": %q}}`, amount, currency))
	}
	events := s.Count(t, "SELECT count(*) FROM outbox")
	for name, refused := range map[string]struct {
		want string
		call e2e.Call
	}{
		"more than is refundable":            {"409 refund_exceeds_payment", s.RefundCall(customer, paid.ID, "40.01")},
		"more than was paid":                 {"409 refund_exceeds_payment", s.RefundCall(customer, paid.ID, "100.01")},
		"a part of a refunded payment":       {"409 refund_exceeds_payment", s.RefundCall(customer, refunded.ID, "0.01")},
		"a full refund of a refunded one":    {"409 refund_exceeds_payment", s.RefundCall(customer, refunded.ID, "")},
		"zero":                               {"422 validation_failed #/amount/amount", inCurrency("0.00", "RUB")},
		"another currency":                   {"422 validation_failed #/amount/currency", inCurrency("1.00", "EUR")},
		"too many decimals":                  {"422 validation_failed #/amount/amount", inCurrency("1.001", "RUB")},
		"an unpaid order":                    {"409 invalid_order_state", s.RefundCall(customer, unpaid.ID, "1.00")},
		"an unpaid order, by administrators": {"409 invalid_order_state", s.RefundCall(s.AdminToken(t), unpaid.ID, "1.00")},
		"a shipped order, by the customer":   {"409 invalid_order_state", s.RefundCall(customer, shipped.ID, "1.00")},
		"by another customer":                {"403 forbidden_resource", s.RefundCall(s.Token(t, e2e.Mallory, "customer"), paid.ID, "")},
		"by the seller":                      {"403 forbidden_role", s.RefundCall(s.SellerToken(t), paid.ID, "")},
		"no such order":                      {"404 not_found", s.RefundCall(customer, 1<<40, "1.00")},
	} {
		r := s.Send(t, refused.call)
		if got := strings.Join(append([]string{r.Verdict()}, r.Pointers()...), " "); got != refused.want {
			t.Errorf("%s: %s, want %s", name, got, refused.want)
		}
	}
	if n := s.Count(t, "SELECT count(*) FROM outbox"); n != events {
		t.Errorf("the refused refunds published %d events", n-events)
	}
	e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(customer, paid.ID, "40.00"))
}

func TestListPayments_ShowsRefunds(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	pending := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	if got := s.ReadPayments(t, pending.ID); len(got) != 0 {
		t.Errorf("an unpaid order has payments: %+v", got)
	}
	o := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	refund := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.OrderCommand(s.CustomerToken(t), o.ID, "payment/refund",
		`{"amount": {"amount": "25.50", "currency": "RUB"}, "reason": "one was broken"}`))
	want := []e2e.Payment{{
		ID: refund.PaymentID, OrderID: o.ID, Amount: e2e.Roubles("100.00"), Refunded: e2e.Roubles("25.50"),
		Status: "captured", Refunds: []e2e.Refund{refund},
	}}
	for name, token := range map[string]string{
		"the customer": s.CustomerToken(t), "the seller": s.SellerToken(t), "an administrator": s.AdminToken(t),
	} {
		path := fmt.Sprintf("/orders/%d/payments", o.ID)
		list := e2e.Want[struct{ Data []e2e.Payment }](t, s, http.StatusOK, e2e.Get(token, path)).Data
		if diff := cmp.Diff(want, list); diff != "" {
			t.Errorf("payments for %s (-want +got):\n%s", name, diff)
		}
	}
	if refund.Reason != "one was broken" {
		t.Errorf("the refund is %+v", refund)
	}
}
