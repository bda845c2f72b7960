package routes

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

var paymentRoutes = map[string]Route{
	"confirmPayment": {
		Prepare: confirmPayment,
		Refusals: refusals{
			"insufficient funds": payWithoutMoney, "paid already": payPaidOrder, "cards not accepted": payByCard,
		},
		Access: Access{Customer: ownerOnly, Seller: nobody, Admin: nobody, System: nobody},
	},
	"refundPayment": {
		Prepare: refundPayment,
		Refusals: refusals{
			"more than was paid": refundTooMuch, "not paid yet": refundUnpaidOrder,
		},
		Access: customerOnly,
	},
	"refundPayment with a reference": {Operation: "refundPayment", Prepare: withReference(refundPayment, http.StatusOK)},
	"refundPayment in full":          {Operation: "refundPayment", Prepare: refundInFull},
	"listPayments":                   {Prepare: readOrderOf("/payments"), Access: orderOwners},
	"searchPayments": {
		Prepare: readPath("/payments"),
		Access:  Access{Customer: nobody, Seller: nobody, Admin: onRecord, System: nobody},
	},
	"getPayment":        {Prepare: readPayment, Access: orderOwners},
	"getRefund":         {Prepare: readRefund, Access: orderOwners},
	"takeStripeWebhook": {Prepare: readPath("/webhooks/stripe"), Access: Access{Public: true, PublicStatus: 404}}, // no cards here
}

func readPayment(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, o := onOrder(t, s, "", "")
	c.Call.Path = fmt.Sprintf("/payments/%d", s.MustPay(t, o).ID)
	return c
}

func readRefund(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, o := onOrder(t, s, "", "")
	s.MustPay(t, o)
	refund := e2e.Want[e2e.Refund](t, s, http.StatusOK, s.RefundCall(s.Token(t, c.Customer, "customer"), o.ID, "10.00"))
	c.Call.Path = fmt.Sprintf("/refunds/%d", refund.ID)
	return c
}

var balanceRoutes = map[string]Route{
	"chargeBalance": {
		Prepare:  chargeBalance,
		Refusals: refusals{"insufficient funds": chargeWithoutMoney},
		Access:   balanceSystem,
	},
	"creditBalance": {
		Prepare:  creditBalance,
		Refusals: refusals{"too large a balance": creditTooMuch},
		Access:   balanceSystem,
	},
	"chargeBalance with a reference": {Operation: "chargeBalance", Prepare: withReference(chargeBalance, http.StatusConflict)},
	"creditBalance with a reference": {Operation: "creditBalance", Prepare: withReference(creditBalance, http.StatusConflict)},
	"getBalance":                     {Prepare: readBalanceOf(""), Access: balanceOwner},
	"listBalanceTransactions":        {Prepare: readBalanceOf("/transactions"), Access: balanceOwner},
}

// confirmPayment pays an order of a customer who has money enough for two.
func confirmPayment(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c := onPayment(t, s)
	s.Credit(t, c.Customer, "1000.00")
	c.OtherBody = `{"method": "card", "payment_method": "pm_card_visa"}`
	c.Peer, c.PeerStatus = s.Token(t, s.UniqueName("customer"), "customer"), http.StatusForbidden
	return c
}

// onPayment prepares an order payment from the balance. The effects are payments.
func onPayment(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, o := onOrder(t, s, "payment/confirm", `{"method": "balance"}`)
	c.Effects = Query{"SELECT count(*) FROM payment WHERE order_id = $1", []any{o.ID}}
	return c
}

func payWithoutMoney(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c := onPayment(t, s)
	return Refusal{c, http.StatusPaymentRequired, "insufficient_funds", func() { s.Credit(t, c.Customer, "1000.00") }}
}

func payPaidOrder(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, o := onOrder(t, s, "payment/confirm", `{"method": "balance"}`)
	s.MustPay(t, o)
	return Refusal{c, http.StatusConflict, "invalid_order_state", nil}
}

func payByCard(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, _ := onOrder(t, s, "payment/confirm", `{"method": "card", "payment_method": "pm_card_visa"}`)
	return Refusal{c, http.StatusUnprocessableEntity, "payment_method_unavailable", nil}
}

func refundPayment(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, o := onRefund(t, s, refundOf("10.00"))
	s.MustPay(t, o)
	c.OtherBody = refundOf("20.00")
	c.Peer, c.PeerStatus = s.AdminToken(t), http.StatusOK
	return c
}

// refundInFull refunds a payment and does not name the amount. Naming it is a different
// request.
func refundInFull(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, o := onRefund(t, s, `{"reason": "dented a/b", "full": true}`)
	s.MustPay(t, o)
	c.OtherBody = refundOf("200.00")
	c.Peer, c.PeerStatus = s.AdminToken(t), http.StatusConflict // the refund was full
	return c
}

// onRefund prepares a refund for an order that is not paid yet. Its effects are
// refunds.
func onRefund(t testing.TB, s *e2e.Service, body string) (Command, e2e.Order) {
	t.Helper()
	c, o := onOrder(t, s, "payment/refund", body)
	c.Effects = Query{"SELECT count(*) FROM refund WHERE order_id = $1", []any{o.ID}}
	return c, o
}

func refundOf(amount string) string {
	return fmt.Sprintf(`{"reason": "dented a/b", "amount": {"currency": "RUB", "amount": %q}}`, amount)
}

func refundTooMuch(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, o := onOrder(t, s, "payment/refund", refundOf("200.01"))
	s.MustPay(t, o)
	return Refusal{c, http.StatusConflict, "refund_exceeds_payment", nil}
}

func refundUnpaidOrder(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, o := onRefund(t, s, refundOf("10.00"))
	return Refusal{c, http.StatusConflict, "invalid_order_state", func() { s.MustPay(t, o) }}
}

// onBalance prepares the bank's command on a new customer balance, which is 100.00.
// Its effects are ledger entries.
func onBalance(t testing.TB, s *e2e.Service, kind, amount, otherAmount string) Command {
	t.Helper()
	customer := s.UniqueName("customer")
	s.Credit(t, customer, "100.00")
	path := func(customer string) string { return "/customers/" + customer + "/balance/" + kind }
	body := func(amount string) string {
		return fmt.Sprintf(`{"description": "fee/7", "amount": {"currency": "RUB", "amount": %q}}`, amount)
	}
	return Command{
		Subject: s.UniqueName("bank"), Role: "system", Customer: customer, Status: http.StatusCreated,
		Call:      e2e.Call{Path: path(customer), Body: body(amount)},
		OtherBody: body(otherAmount),
		OtherPath: path(s.UniqueName("customer")),
		Peer:      s.Token(t, s.UniqueName("bank"), "system"), PeerStatus: http.StatusCreated,
		Locks:   Query{"SELECT FROM balance WHERE customer_id = $1 FOR UPDATE", []any{customer}},
		Effects: Query{"SELECT count(*) FROM ledger_entry WHERE customer_id = $1 AND kind = $2", []any{customer, kind}},
	}
}

func chargeBalance(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	return onBalance(t, s, "charge", "10.00", "11.00")
}

func creditBalance(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	return onBalance(t, s, "credit", "10.00", "11.00")
}

// withReference prepares a command with a reference. The same command with a changed
// reference is a different request. peerStatus is the status that a second principal gets
// for the same reference: it is taken for all entries in a balance with the same kind,
// but only for the same creator's orders, refunds and adjustments.
func withReference(prepare func(testing.TB, *e2e.Service) Command, peerStatus int) func(testing.TB, *e2e.Service) Command {
	return func(t testing.TB, s *e2e.Service) Command {
		t.Helper()
		c := prepare(t, s)
		c.OtherBody = `{"reference": "fee/8", ` + c.Call.Body[1:]
		c.Call.Body = `{"reference": "fee/7", ` + c.Call.Body[1:]
		c.PeerStatus = peerStatus
		return c
	}
}

func chargeWithoutMoney(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c := onBalance(t, s, "charge", "150.00", "")
	return Refusal{c, http.StatusPaymentRequired, "insufficient_funds", func() { s.Credit(t, c.Customer, "50.00") }}
}

func creditTooMuch(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c := onBalance(t, s, "credit", "999999999999999.99", "")
	return Refusal{c, http.StatusUnprocessableEntity, "validation_failed", func() {
		s.Exec(t, "UPDATE balance SET amount = 0 WHERE customer_id = $1", c.Customer)
	}}
}

func readBalanceOf(path string) func(testing.TB, *e2e.Service) Command {
	return func(t testing.TB, s *e2e.Service) Command {
		t.Helper()
		customer := s.UniqueName("customer")
		s.Credit(t, customer, "100.00")
		return Command{
			Customer: customer, Status: http.StatusOK,
			Call: e2e.Call{Path: "/customers/" + customer + "/balance" + path},
		}
	}
}
