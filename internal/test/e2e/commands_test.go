package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
)

func TestReserveInventoryRenewsTheHold(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	for name, token := range map[string]string{
		"the customer": s.asCustomer(), "the seller": s.asSeller(), "the system": s.asSystem(),
	} {
		o := s.order(alice, "tea", 2)
		before := s.product("tea")
		s.exec("UPDATE orders SET reserved_until = reserved_until - interval '10 minutes' WHERE id = $1", o.ID)
		renewed := want[orderBody](s, http.StatusOK, s.reserveCall(token, o.ID))
		if renewed.Status != "pending_payment" || renewed.Version != o.Version+1 || renewed.Reservation == nil ||
			renewed.Reservation.ExpiresAt.Before(o.Reservation.ExpiresAt) {
			t.Errorf("%s renewed %+v to %+v", name, o, renewed)
		}
		s.stockIs("tea", before.OnHand, before.Reserved)
	}
}

func TestReserveInventoryTakesTheStockAgainAfterALapse(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 3})
	o := s.order(alice, "tea", 2)
	s.expireReservation(o.ID)
	s.releaseReservations()
	s.stockIs("tea", 3, 0)
	if o = s.readOrder(o.ID); o.Reservation != nil || o.Status != "pending_payment" {
		t.Errorf("after the lapse the order is %+v", o)
	}
	if o = want[orderBody](s, http.StatusOK, s.reserveCall(s.asCustomer(), o.ID)); o.Reservation == nil {
		t.Errorf("reserved again, the order is %+v", o)
	}
	s.stockIs("tea", 3, 2)

	s.expireReservation(o.ID)
	s.releaseReservations()
	other := s.order(mallory, "tea", 2)
	refused := s.reserveCall(s.asCustomer(), o.ID)
	s.wantProblem(http.StatusConflict, "out_of_stock", refused)
	if o = s.readOrder(o.ID); o.Reservation != nil {
		t.Errorf("nothing could be reserved, and the order is %+v", o)
	}
	s.stockIs("tea", 3, 2)

	want[orderBody](s, http.StatusOK, s.cancelCall(s.token(mallory, "customer"), other.ID))
	s.wantProblem(http.StatusConflict, "out_of_stock", refused) // the answer of a key stays
	want[orderBody](s, http.StatusOK, s.reserveCall(s.asCustomer(), o.ID))
	s.stockIs("tea", 3, 2)
}

// A hold that is over but not yet freed still has its units: renewing keeps them and
// takes no others.
func TestReserveInventoryKeepsWhatALapsedHoldStillHas(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 2})
	o := s.order(alice, "tea", 2)
	s.expireReservation(o.ID)
	want[orderBody](s, http.StatusOK, s.reserveCall(s.asCustomer(), o.ID))
	s.stockIs("tea", 2, 2)
	s.releaseReservations()
	s.stockIs("tea", 2, 2)
}

// Each command that asks for a state is refused in every other one, and changes nothing.
func TestCommandsAreRefusedInTheWrongState(t *testing.T) {
	t.Parallel()
	commands := map[string]struct {
		allowed []order.Status
		call    func(s *service, id int) call
	}{
		"reserve": {
			[]order.Status{order.PendingPayment},
			func(s *service, id int) call { return s.reserveCall(s.asCustomer(), id) },
		},
		"confirm": {
			[]order.Status{order.PendingPayment},
			func(s *service, id int) call { return s.confirmCall(alice, id, s.newKey()) },
		},
		"refund as the customer": {
			[]order.Status{order.Paid, order.Fulfilling},
			func(s *service, id int) call { return s.refundCall(s.asCustomer(), id, "") },
		},
		"refund as an administrator": {
			[]order.Status{order.Paid, order.Fulfilling, order.Shipped, order.Delivered},
			func(s *service, id int) call { return s.refundCall(s.asAdmin(), id, "") },
		},
		"cancel": {
			[]order.Status{order.PendingPayment, order.Paid, order.Fulfilling},
			func(s *service, id int) call { return s.cancelCall(s.asCustomer(), id) },
		},
		"fulfil": {
			[]order.Status{order.Paid},
			func(s *service, id int) call { return statusCall(s.asSeller(), id, "fulfilling") },
		},
		"ship": {
			[]order.Status{order.Fulfilling},
			func(s *service, id int) call { return statusCall(s.asSeller(), id, "shipped") },
		},
		"deliver": {
			[]order.Status{order.Shipped},
			func(s *service, id int) call { return statusCall(s.asSeller(), id, "delivered") },
		},
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, shelf{"tea": 100})
			s.credit(alice, "1000.00")
			for status := range order.Transitions {
				o := s.orderThatIs(status, alice, "tea")
				r := s.send(command.call(s, o.ID))
				if slices.Contains(command.allowed, status) {
					if r.status != http.StatusOK {
						t.Errorf("%s: %d %s", status, r.status, r.body)
					}
					continue
				}
				if r.verdict() != "409 invalid_order_state" {
					t.Errorf("%s: %s, want 409 invalid_order_state", status, r.verdict())
				}
				if diff := cmp.Diff(o, s.readOrder(o.ID)); diff != "" {
					t.Errorf("%s: the refused command changed the order (-before +after):\n%s", status, diff)
				}
			}
		})
	}
}

// Every status that the contract lets a client ask for leads nowhere but where the
// table says.
func TestUpdateOrderStatusFollowsTheTable(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 100})
	o := s.boughtOrder(alice, "tea", 1)
	for i, status := range []string{"fulfilling", "shipped", "delivered"} {
		token := s.asSeller()
		if status == "shipped" {
			token = s.asAdmin()
		}
		moved := want[orderBody](s, http.StatusOK, statusCall(token, o.ID, status))
		if moved.Status != status || moved.Version != o.Version+i+1 || moved.Reservation != nil {
			t.Errorf("moved to %s, the order is %+v", status, moved)
		}
	}
	s.stockIs("tea", 99, 0)
	for _, status := range []string{"paid", "pending_payment", "payment_processing", "cancelled", "lost"} {
		s.wantProblem(http.StatusUnprocessableEntity, "validation_failed", statusCall(s.asSeller(), o.ID, status))
	}
	s.wantProblem(http.StatusNotFound, "not_found", statusCall(s.asSeller(), 1<<40, "shipped"))
}

func TestRefundPaymentInParts(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	o := s.boughtOrder(alice, "tea", 1)
	payment := s.readPayments(o.ID)[0].ID
	for i, part := range []struct{ amount, gives, left, balance string }{
		{"30.00", "30.00", "70.00", "30.00"},
		{"0.01", "0.01", "69.99", "30.01"},
		{"", "69.99", "0.00", "100.00"},
	} {
		r := want[refundBody](s, http.StatusOK, s.refundCall(s.asCustomer(), o.ID, part.amount))
		wanted := refundBody{ID: r.ID, PaymentID: payment, OrderID: o.ID, Amount: money{part.gives, "RUB"}, Status: "succeeded"}
		if diff := cmp.Diff(wanted, r); diff != "" {
			t.Errorf("refund %d (-want +got):\n%s", i, diff)
		}
		if got := s.balance(alice); got != part.balance {
			t.Errorf("after refund %d the balance is %s, want %s", i, got, part.balance)
		}
		if p := s.readPayments(o.ID)[0]; len(p.Refunds) != i+1 || p.Status != "captured" || p.Amount.Amount != "100.00" {
			t.Errorf("after refund %d the payment is %+v", i, p)
		}
		status, onHand := "paid", 9
		if part.left == "0.00" {
			status, onHand = "cancelled", 10
		}
		if got := s.readOrder(o.ID).Status; got != status {
			t.Errorf("after refund %d the order is %s, want %s", i, got, status)
		}
		s.stockIs("tea", onHand, 0)
	}
	if p := s.readPayments(o.ID)[0]; p.Refunded != (money{"100.00", "RUB"}) {
		t.Errorf("in the end the payment is %+v", p)
	}
}

func TestFullRefundCancelsBeforeShippingOnly(t *testing.T) {
	t.Parallel()
	for status, wanted := range map[order.Status]struct {
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
				s := newShop(t, shelf{"tea": 10})
				o := s.orderThatIs(status, alice, "tea")
				r := want[refundBody](s, http.StatusOK, s.refundCall(s.asAdmin(), o.ID, amount))
				if r.Amount.Amount != "200.00" {
					t.Errorf("refunded %+v", r)
				}
				if got := s.readOrder(o.ID).Status; got != wanted.status {
					t.Errorf("the order is %s, want %s", got, wanted.status)
				}
				s.stockIs("tea", wanted.onHand, 0)
				if got := s.balance(alice); got != "200.00" {
					t.Errorf("the balance is %s, want 200.00", got)
				}
				s.wantAudit(root, "RefundPayment", fmt.Sprintf("order/%d", o.ID))
			})
		}
	}
}

// wantAudit checks the newest row of the audit log.
func (s *service) wantAudit(actor, action, resource string) {
	s.Helper()
	page := want[pageOf[auditBody]](s, http.StatusOK, get(s.asAdmin(), "/admin/audit-log?limit=1"))
	if len(page.Data) != 1 || page.Data[0].Actor != actor || page.Data[0].Action != action || page.Data[0].Resource != resource {
		s.Errorf("the audit log ends in %+v, want %s of %s by %s", page.Data, action, resource, actor)
	}
}

func TestRefundPaymentRefusals(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	paid := s.boughtOrder(alice, "tea", 1)
	want[refundBody](s, http.StatusOK, s.refundCall(s.asCustomer(), paid.ID, "60.00"))
	done := s.boughtOrder(alice, "tea", 1)
	want[refundBody](s, http.StatusOK, s.refundCall(s.asCustomer(), done.ID, ""))
	shipped := s.orderThatIs(order.Shipped, alice, "tea")
	unpaid := s.order(alice, "tea", 1)
	refund := func(id int, amount, currency string) call {
		return s.commandOn(s.asCustomer(), id, "payment/refund", fmt.Sprintf(`{"amount": {"amount": %q, "currency": %q}}`, amount, currency))
	}
	events := s.count("SELECT count(*) FROM outbox")
	for name, c := range map[string]struct {
		verdict string
		call    call
	}{
		"more than is left":                    {"409 refund_exceeds_payment", refund(paid.ID, "40.01", "RUB")},
		"more than was paid":                   {"409 refund_exceeds_payment", refund(paid.ID, "100.01", "RUB")},
		"a part when nothing is left":          {"409 refund_exceeds_payment", refund(done.ID, "0.01", "RUB")},
		"the rest when nothing is left":        {"409 refund_exceeds_payment", s.refundCall(s.asCustomer(), done.ID, "")},
		"nothing":                              {"422 validation_failed #/amount/amount", refund(paid.ID, "0.00", "RUB")},
		"another currency":                     {"422 validation_failed #/amount/currency", refund(paid.ID, "1.00", "EUR")},
		"too many decimals":                    {"422 validation_failed #/amount/amount", refund(paid.ID, "1.001", "RUB")},
		"nothing captured":                     {"409 invalid_order_state", refund(unpaid.ID, "1.00", "RUB")},
		"nothing captured, for administrators": {"409 invalid_order_state", s.refundCall(s.asAdmin(), unpaid.ID, "1.00")},
		"shipped, for the customer":            {"409 invalid_order_state", refund(shipped.ID, "1.00", "RUB")},
		"somebody else's":                      {"403 forbidden_resource", s.refundCall(s.token(mallory, "customer"), paid.ID, "")},
		"by the seller":                        {"403 forbidden_role", s.refundCall(s.asSeller(), paid.ID, "")},
		"no such order":                        {"404 not_found", refund(1<<40, "1.00", "RUB")},
	} {
		r := s.send(c.call)
		if got := strings.Join(append([]string{r.verdict()}, r.pointers()...), " "); got != c.verdict {
			t.Errorf("%s: %s, want %s", name, got, c.verdict)
		}
	}
	if n := s.count("SELECT count(*) FROM outbox"); n != events {
		t.Errorf("the refused refunds left %d events", n-events)
	}
	want[refundBody](s, http.StatusOK, refund(paid.ID, "40.00", "RUB"))
}

func TestCancelOrderGivesBackStockAndMoney(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status order.Status
		first  func(s *service, orderID int)
		// refunds are what the payment has in the end, balance what alice has.
		refunds []string
		balance string
		// seller and admin say who cancels, if not the customer.
		seller, admin bool
	}{
		"pending with its hold":          {status: order.PendingPayment},
		"pending, by the seller":         {status: order.PendingPayment, seller: true},
		"pending, hold over, not freed":  {status: order.PendingPayment, first: func(s *service, id int) { s.expireReservation(id) }},
		"pending, hold over and freed":   {status: order.PendingPayment, first: func(s *service, id int) { s.expireReservation(id); s.releaseReservations() }},
		"paid":                           {status: order.Paid, refunds: []string{"200.00"}, balance: "200.00"},
		"paid, by an administrator":      {status: order.Paid, admin: true, refunds: []string{"200.00"}, balance: "200.00"},
		"fulfilling":                     {status: order.Fulfilling, refunds: []string{"200.00"}, balance: "200.00"},
		"fulfilling, by the seller":      {status: order.Fulfilling, seller: true, refunds: []string{"200.00"}, balance: "200.00"},
		"paid, a part refunded before":   {status: order.Paid, first: refundPart, refunds: []string{"49.90", "150.10"}, balance: "200.00"},
		"fulfilling, a part before that": {status: order.Fulfilling, first: refundPart, refunds: []string{"49.90", "150.10"}, balance: "200.00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, shelf{"tea": 10})
			o := s.orderThatIs(c.status, alice, "tea")
			if c.first != nil {
				c.first(s, o.ID)
			}
			token := s.asCustomer()
			switch {
			case c.seller:
				token = s.asSeller()
			case c.admin:
				token = s.asAdmin()
			}
			cancelled := want[orderBody](s, http.StatusOK, s.cancelCall(token, o.ID))
			if cancelled.Status != "cancelled" || cancelled.Reservation != nil {
				t.Errorf("cancelled, the order is %+v", cancelled)
			}
			s.stockIs("tea", 10, 0)
			var refunds []string
			for _, p := range s.readPayments(o.ID) {
				for _, r := range p.Refunds {
					refunds = append(refunds, r.Amount.Amount)
				}
			}
			if diff := cmp.Diff(c.refunds, refunds); diff != "" {
				t.Errorf("refunds (-want +got):\n%s", diff)
			}
			if got := s.balance(alice); got != c.balance {
				t.Errorf("the balance is %q, want %q", got, c.balance)
			}
			if c.admin {
				s.wantAudit(root, "CancelOrder", fmt.Sprintf("order/%d", o.ID))
			}
			s.wantProblem(http.StatusConflict, "invalid_order_state", s.cancelCall(token, o.ID))
			s.releaseReservations()
			s.stockIs("tea", 10, 0)
		})
	}
}

func refundPart(s *service, orderID int) {
	s.Helper()
	want[refundBody](s, http.StatusOK, s.refundCall(s.asCustomer(), orderID, "49.90"))
}

// The order is over, and whoever asks again with the same key gets the same answer.
func TestCancelOrderTellsTheReasonOfItsRefund(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	o := s.boughtOrder(alice, "tea", 1)
	cancel := s.cancelCall(s.asCustomer(), o.ID)
	first, again := s.send(cancel), s.send(cancel)
	if first.status != http.StatusOK || again.status != first.status || string(again.body) != string(first.body) {
		t.Errorf("cancelled: %d %s\nagain: %d %s", first.status, first.body, again.status, again.body)
	}
	if p := s.readPayments(o.ID)[0]; len(p.Refunds) != 1 || p.Refunds[0].Reason != "changed my mind" {
		t.Errorf("the payment is %+v", p)
	}
}

func TestListOrdersShowsOnlyWhatIsTheirs(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	rivals := call{
		method: "PUT", path: "/products/coffee", token: s.token(rival, "seller"),
		body: `{"name": "coffee", "price": {"amount": "10.00", "currency": "RUB"}, "on_hand": 10}`,
	}
	want[product](s, http.StatusCreated, rivals)
	ids := map[string]int{
		"alice at the shop":    s.order(alice, "tea", 1).ID,
		"mallory at the shop":  s.boughtOrder(mallory, "tea", 1).ID,
		"alice at the rival":   s.order(alice, "coffee", 1).ID,
		"mallory at the rival": s.order(mallory, "coffee", 1).ID,
		"the shop at rival":    s.order(shop, "coffee", 1).ID,
	}
	for name, c := range map[string]struct {
		token string
		query string
		want  []string
	}{
		"a customer":                    {s.asCustomer(), "", []string{"alice at the rival", "alice at the shop"}},
		"a seller":                      {s.asSeller(), "", []string{"mallory at the shop", "alice at the shop"}},
		"an administrator":              {s.asAdmin(), "", []string{"the shop at rival", "mallory at the rival", "alice at the rival", "mallory at the shop", "alice at the shop"}},
		"nobody in particular":          {s.token("eve", "customer", "seller"), "", nil},
		"a seller who buys, as both":    {s.token(shop, "seller", "customer"), "", []string{"the shop at rival", "mallory at the shop", "alice at the shop"}},
		"a seller's role alone":         {s.token(alice, "seller"), "", nil},
		"a status":                      {s.asSeller(), "?status=paid", []string{"mallory at the shop"}},
		"a status, as an administrator": {s.asAdmin(), "?status=paid", []string{"mallory at the shop"}},
		"a status that nothing has":     {s.asAdmin(), "?status=delivered", nil},
		"a customer of the seller":      {s.asSeller(), "?customer_id=alice", []string{"alice at the shop"}},
		"a customer of anybody":         {s.asAdmin(), "?customer_id=alice", []string{"alice at the rival", "alice at the shop"}},
		"another customer's":            {s.asCustomer(), "?customer_id=mallory", nil},
		"both filters":                  {s.asAdmin(), "?customer_id=mallory&status=pending_payment", []string{"mallory at the rival"}},
	} {
		page := want[pageOf[orderBody]](s, http.StatusOK, get(c.token, "/orders"+c.query))
		var got []string
		for _, o := range page.Data {
			for name, id := range ids {
				if id == o.ID {
					got = append(got, name)
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" || len(got) != len(page.Data) {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.wantProblem(http.StatusUnprocessableEntity, "validation_failed", get(s.asAdmin(), "/orders?status=lost"))
}

func TestListPaymentsShowsRefunds(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	pending := s.order(alice, "tea", 1)
	if got := s.readPayments(pending.ID); len(got) != 0 {
		t.Errorf("an unpaid order has payments: %+v", got)
	}
	o := s.boughtOrder(alice, "tea", 1)
	refund := want[refundBody](s, http.StatusOK, s.commandOn(s.asCustomer(), o.ID, "payment/refund",
		`{"amount": {"amount": "25.50", "currency": "RUB"}, "reason": "one was broken"}`))
	var lists [][]paymentRead
	for _, token := range []string{s.asCustomer(), s.asSeller(), s.asAdmin()} {
		path := fmt.Sprintf("/orders/%d/payments", o.ID)
		lists = append(lists, want[struct{ Data []paymentRead }](s, http.StatusOK, get(token, path)).Data)
	}
	wanted := []paymentRead{{
		ID: refund.PaymentID, OrderID: o.ID, Amount: money{"100.00", "RUB"}, Refunded: money{"25.50", "RUB"},
		Status: "captured", Refunds: []refundBody{refund},
	}}
	for _, list := range lists {
		if diff := cmp.Diff(wanted, list); diff != "" {
			t.Errorf("payments (-want +got):\n%s", diff)
		}
	}
	if refund.Reason != "one was broken" {
		t.Errorf("the refund is %+v", refund)
	}
}

func TestListBalanceTransactionsTellsTheWholeStory(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	s.credit(mallory, "1.00")
	o := s.boughtOrder(alice, "tea", 1)
	want[refundBody](s, http.StatusOK, s.refundCall(s.asCustomer(), o.ID, "30.00"))
	charge := s.creditCall(alice, "5.00", s.newKey())
	charge.path = "/customers/alice/balance/charge"
	want[transactionBody](s, http.StatusCreated, charge)

	type line struct{ Kind, Amount, After string }
	wanted := []line{
		{"charge", "5.00", "25.00"}, {"refund", "30.00", "30.00"}, {"payment", "100.00", "0.00"}, {"credit", "100.00", "100.00"},
	}
	for name, token := range map[string]string{"the customer": s.asCustomer(), "the system": s.asSystem(), "an administrator": s.asAdmin()} {
		var got []line
		for _, m := range want[pageOf[transactionBody]](s, http.StatusOK, get(token, "/customers/alice/balance/transactions")).Data {
			got = append(got, line{m.Kind, m.Amount.Amount, m.BalanceAfter.Amount})
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.wantAudit(root, "ListBalanceTransactions", "balance/alice")
	if page := want[pageOf[transactionBody]](s, http.StatusOK, get(s.asSystem(), "/customers/nobody/balance/transactions")); len(page.Data) != 0 {
		t.Errorf("somebody without a balance has transactions: %+v", page.Data)
	}
}

func TestProfilesBelongToTheirCustomers(t *testing.T) {
	t.Parallel()
	s := newShop(t, nil)
	const path = "/customers/alice/profile"
	put := func(token, name string) call {
		return call{method: "PUT", path: path, token: token, body: fmt.Sprintf(
			`{"full_name": %q, "email": "alice@example.com", "phone": "+79990000001"}`, name)}
	}
	wanted := func(name string) profileBody {
		return profileBody{CustomerID: alice, FullName: name, Email: "alice@example.com", Phone: "+79990000001"}
	}
	s.wantProblem(http.StatusNotFound, "not_found", get(s.asCustomer(), path))
	s.wantProblem(http.StatusNotFound, "not_found", get(s.asAdmin(), path))
	if n := s.count("SELECT count(*) FROM audit_log"); n != 0 {
		t.Errorf("nothing was read, and the audit log has %d rows", n)
	}
	for _, name := range []string{"Alice", "Алиса Ёжикова"} {
		if diff := cmp.Diff(wanted(name), want[profileBody](s, http.StatusOK, put(s.asCustomer(), name))); diff != "" {
			t.Errorf("put (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(wanted(name), want[profileBody](s, http.StatusOK, get(s.asCustomer(), path))); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	}
	stranger := s.token(mallory, "customer")
	s.wantProblem(http.StatusForbidden, "forbidden_resource", get(stranger, path))
	s.wantProblem(http.StatusForbidden, "forbidden_resource", put(stranger, "Mallory"))
	s.wantProblem(http.StatusForbidden, "forbidden_role", get(s.asSystem(), path))

	want[profileBody](s, http.StatusOK, get(s.asAdmin(), path))
	s.wantAudit(root, "GetCustomerProfile", "profile/alice")
	want[profileBody](s, http.StatusOK, put(s.asAdmin(), "Alice A."))
	s.wantAudit(root, "UpdateCustomerProfile", "profile/alice")
	if diff := cmp.Diff(wanted("Alice A."), want[profileBody](s, http.StatusOK, get(s.asCustomer(), path))); diff != "" {
		t.Errorf("after the administrator (-want +got):\n%s", diff)
	}
	if n := s.count("SELECT count(*) FROM outbox"); n != 0 {
		t.Errorf("profiles are personal data, and %d events left", n)
	}
}

// Each row tells who did what to whom, newest first; refused attempts leave none.
func TestListAuditLogTellsWhatAdministratorsDid(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	first := s.boughtOrder(alice, "tea", 1)
	second := s.boughtOrder(alice, "tea", 1)
	admin := s.asAdmin()
	credit := s.creditCall(alice, "5.00", s.newKey())
	credit.token = admin
	charge := credit
	charge.path, charge.key = "/customers/alice/balance/charge", s.newKey()
	var refund refundBody
	do := []func(){
		func() { want[transactionBody](s, http.StatusCreated, credit) },
		func() { want[transactionBody](s, http.StatusCreated, charge) },
		func() { want[orderBody](s, http.StatusOK, statusCall(admin, first.ID, "fulfilling")) },
		func() { refund = want[refundBody](s, http.StatusOK, s.refundCall(admin, first.ID, "10.00")) },
		func() { want[orderBody](s, http.StatusOK, s.cancelCall(admin, second.ID)) },
		func() { s.wantProblem(http.StatusConflict, "invalid_order_state", s.cancelCall(admin, second.ID)) },
		func() {
			s.wantProblem(http.StatusConflict, "refund_exceeds_payment", s.refundCall(admin, first.ID, "90.01"))
		},
		func() {
			s.wantProblem(http.StatusConflict, "invalid_order_state", statusCall(admin, first.ID, "delivered"))
		},
		func() { want[orderBody](s, http.StatusOK, get(admin, fmt.Sprintf("/orders/%d", first.ID))) },
		func() { want[transactionBody](s, http.StatusCreated, credit) }, // a replay
	}
	for _, step := range do {
		step()
	}
	row := func(action, resource string, metadata map[string]string) auditBody {
		return auditBody{Actor: root, Action: action, Resource: resource, Metadata: metadata}
	}
	none := map[string]string{}
	wanted := []auditBody{
		row("GetOrderById", fmt.Sprintf("order/%d", first.ID), none),
		row("CancelOrder", fmt.Sprintf("order/%d", second.ID), none),
		row("RefundPayment", fmt.Sprintf("order/%d", first.ID), map[string]string{"refund": fmt.Sprint(refund.ID)}),
		row("UpdateOrderStatus", fmt.Sprintf("order/%d", first.ID), map[string]string{"status": "fulfilling"}),
		row("ChargeBalance", "balance/alice", none),
		row("CreditBalance", "balance/alice", none),
	}
	page := want[pageOf[auditBody]](s, http.StatusOK, get(admin, "/admin/audit-log"))
	for i := range page.Data {
		page.Data[i].ID = 0
	}
	if diff := cmp.Diff(wanted, page.Data); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

func TestGetIdempotencyKeyTellsWhatBecameOfEachCommand(t *testing.T) {
	t.Parallel()
	s := newShop(t, shelf{"tea": 10})
	held, paid, doomed := s.order(alice, "tea", 1), s.boughtOrder(alice, "tea", 1), s.boughtOrder(alice, "tea", 1)
	for command, c := range map[string]struct {
		status int
		call   call
	}{
		"createOrder":      {http.StatusCreated, s.orderCall(alice, "tea", 1, s.newKey())},
		"reserveInventory": {http.StatusOK, s.reserveCall(s.asCustomer(), held.ID)},
		"refundPayment":    {http.StatusOK, s.refundCall(s.asCustomer(), paid.ID, "1.00")},
		"cancelOrder":      {http.StatusOK, s.cancelCall(s.asCustomer(), doomed.ID)},
		"confirmPayment":   {http.StatusConflict, s.confirmCall(alice, paid.ID, s.newKey())},
	} {
		path := "/idempotency-keys/" + c.call.key
		s.wantProblem(http.StatusNotFound, "not_found", get(s.asCustomer(), path))
		if r := s.send(c.call); r.status != c.status {
			t.Errorf("%s: %d %s", command, r.status, r.body)
		}
		type fate struct {
			Key, Command string
			Status       int
		}
		if diff := cmp.Diff(fate{c.call.key, command, c.status}, want[fate](s, http.StatusOK, get(s.asCustomer(), path))); diff != "" {
			t.Errorf("what became of the key (-want +got):\n%s", diff)
		}
		s.wantProblem(http.StatusNotFound, "not_found", get(s.token(mallory, "customer"), path))
	}
}

// The record of a key is gone and the retry comes: the second line gives the first
// result and does nothing, and tells another request apart from it.
func TestLateRetriesFindTheFirstResult(t *testing.T) {
	t.Parallel()
	type shopping struct {
		s    *service
		held orderBody
		paid orderBody
	}
	for command, c := range map[string]struct {
		call func(g shopping) call
		// other is another request with the same key; "" when there is none to ask.
		other string
	}{
		"CreateOrder":      {func(g shopping) call { return g.s.orderCall(alice, "tea", 1, "late") }, `{"items": [{"sku": "tea", "quantity": 2}]}`},
		"ReserveInventory": {func(g shopping) call { return g.s.reserveCall(g.s.asCustomer(), g.held.ID) }, ""},
		"ConfirmPayment":   {func(g shopping) call { return g.s.confirmCall(alice, g.held.ID, "late") }, `{"method": "card", "payment_method": "pm_1"}`},
		"RefundPayment, a part": {
			func(g shopping) call { return g.s.refundCall(g.s.asCustomer(), g.paid.ID, "30.00") },
			`{"amount": {"amount": "30.01", "currency": "RUB"}}`,
		},
		"RefundPayment, the rest": {
			func(g shopping) call { return g.s.refundCall(g.s.asCustomer(), g.paid.ID, "") },
			`{"amount": {"amount": "100.00", "currency": "RUB"}}`,
		},
		"CancelOrder":   {func(g shopping) call { return g.s.cancelCall(g.s.asCustomer(), g.paid.ID) }, `{"reason": "another"}`},
		"CreditBalance": {func(g shopping) call { return g.s.creditCall(alice, "5.00", "late") }, `{"amount": {"amount": "6.00", "currency": "RUB"}}`},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, shelf{"tea": 10})
			s.credit(alice, "100.00")
			g := shopping{s, s.order(alice, "tea", 1), s.boughtOrder(alice, "tea", 1)}
			asked := c.call(g)
			first := s.send(asked)
			if first.status/100 != 2 {
				t.Fatalf("%d %s", first.status, first.body)
			}
			events := s.count("SELECT count(*) FROM outbox")
			s.exec("DELETE FROM idempotency_record")
			late := s.replica().send(asked) // one that remembers nothing
			if late.status != first.status || string(late.body) != string(first.body) || late.header.Get("Location") != first.header.Get("Location") {
				t.Errorf("first: %d %s\nlate: %d %s", first.status, first.body, late.status, late.body)
			}
			if got := late.header.Get("Idempotency-Result"); got != "reused" {
				t.Errorf("Idempotency-Result is %q, want reused", got)
			}
			if c.other != "" {
				s.exec("DELETE FROM idempotency_record")
				other := asked
				other.body = c.other
				s.replica().wantProblem(http.StatusConflict, "idempotency_key_reused", other)
			}
			if n := s.count("SELECT count(*) FROM outbox"); n != events {
				t.Errorf("the retries left %d events", n-events)
			}
		})
	}
}
