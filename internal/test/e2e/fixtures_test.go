package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/orders/internal/core/order"
	testwait "example.com/orders/internal/test/wait"
)

// More people of the tests: those who own nothing of what the others have.
const (
	mallory = "mallory" // another customer
	rival   = "rival"   // another seller
)

// patience is how long a test waits for what must happen.
const patience = testwait.Patience

// More of what the tests read of the answers.
type (
	pageOf[T any] struct {
		Data       []T
		NextCursor *string `json:"next_cursor"`
	}
	refundBody struct {
		ID        int
		PaymentID int `json:"payment_id"`
		OrderID   int `json:"order_id"`
		Amount    money
		Status    string
		Reason    string
	}
	paymentRead struct {
		ID       int
		OrderID  int `json:"order_id"`
		Amount   money
		Refunded money
		Status   string
		Refunds  []refundBody
	}
	profileBody struct {
		CustomerID string `json:"customer_id"`
		FullName   string `json:"full_name"`
		Email      string
		Phone      string
	}
	auditBody struct {
		ID                      int
		Actor, Action, Resource string
		Metadata                map[string]string
	}
)

// shelf is how many units of each product there were before anybody ordered.
type shelf map[string]int

// newShop starts a service whose shop offers these products for 100.00 RUB each. When
// the test ends, the books must be right.
func newShop(t testing.TB, stock shelf, settings ...string) *service {
	t.Helper()
	s := newService(t, settings...)
	s.stockUp(stock)
	return s
}

// twoReplicas is newShop with a second replica on the same database.
func twoReplicas(t testing.TB, stock shelf, settings ...string) (a, b *service) {
	t.Helper()
	a = newService(t, settings...)
	b = a.replica(settings...)
	a.stockUp(stock)
	return a, b
}

func (s *service) stockUp(stock shelf) {
	s.Helper()
	s.Cleanup(func() { checkLedger(s, s.db, stock) })
	for sku, onHand := range stock {
		s.putProduct(sku, onHand)
	}
}

// exec changes the database behind the service's back.
func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Exec(w.Context(), sql, args...); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
}

var eventually = testwait.Until

// waitBlocked waits until n statements of this database wait for a lock.
func (w *world) waitBlocked(n int) {
	w.Helper()
	eventually(w, fmt.Sprintf("%d statements wait for a lock", n), func() bool {
		return w.count(`SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= n
	})
}

// The tokens of the usual people.
func (w *world) asCustomer() string { return w.token(alice, "customer") }
func (w *world) asSeller() string   { return w.token(shop, "seller") }
func (w *world) asSystem() string   { return w.token(bank, "system") }
func (w *world) asAdmin() string    { return w.token(root, "admin") }

// get reads a path.
func get(token, path string) call { return call{method: "GET", path: path, token: token} }

// commandOn is a guarded command on an order, under a new key.
func (w *world) commandOn(token string, orderID int, command, body string) call {
	return call{
		method: "POST", path: fmt.Sprintf("/orders/%d/%s", orderID, command),
		token: token, key: w.newKey(), body: body,
	}
}

func (w *world) reserveCall(token string, orderID int) call {
	return w.commandOn(token, orderID, "reservation", "")
}

// refundCall asks for roubles back; no amount is all that is left.
func (w *world) refundCall(token string, orderID int, amount string) call {
	body := "{}"
	if amount != "" {
		body = fmt.Sprintf(`{"amount": {"amount": %q, "currency": "RUB"}}`, amount)
	}
	return w.commandOn(token, orderID, "payment/refund", body)
}

func (w *world) cancelCall(token string, orderID int) call {
	return w.commandOn(token, orderID, "cancel", `{"reason": "changed my mind"}`)
}

func statusCall(token string, orderID int, status string) call {
	return call{
		method: "PATCH", path: fmt.Sprintf("/orders/%d/status", orderID),
		token: token, body: fmt.Sprintf(`{"status": %q}`, status),
	}
}

// readOrder reads an order as its seller.
func (s *service) readOrder(orderID int) orderBody {
	s.Helper()
	return want[orderBody](s, http.StatusOK, get(s.asSeller(), fmt.Sprintf("/orders/%d", orderID)))
}

// readPayments reads the payments of an order as its seller.
func (s *service) readPayments(orderID int) []paymentRead {
	s.Helper()
	return want[struct{ Data []paymentRead }](s, http.StatusOK, get(s.asSeller(), fmt.Sprintf("/orders/%d/payments", orderID))).Data
}

// boughtOrder makes an order and pays it with money that the customer is given for it.
func (s *service) boughtOrder(customer, sku string, quantity int) orderBody {
	s.Helper()
	o := s.order(customer, sku, quantity)
	s.credit(customer, o.Total.Amount)
	want[paymentBody](s, http.StatusOK, s.confirmCall(customer, o.ID, s.newKey()))
	return s.readOrder(o.ID)
}

// silentProvider is a replica that accepts cards, and a provider that never answers.
var silentProvider = []string{
	"ORDERS_STRIPE_KEY=key", "ORDERS_STRIPE_WEBHOOK_SECRET=secret", "ORDERS_STRIPE_URL=http://127.0.0.1:1",
}

// orderThatIs makes an order of two units and takes it to a status.
func (s *service) orderThatIs(status order.Status, customer, sku string) orderBody {
	s.Helper()
	const quantity = 2
	var o orderBody
	switch status {
	case order.PendingPayment:
		o = s.order(customer, sku, quantity)
	case order.PaymentProcessing:
		o = s.order(customer, sku, quantity)
		pay := s.confirmCall(customer, o.ID, s.newKey())
		pay.body = `{"method": "card", "payment_method": "pm_card_visa"}`
		want[paymentBody](s.replica(silentProvider...), http.StatusOK, pay)
	case order.Cancelled:
		o = s.order(customer, sku, quantity)
		want[orderBody](s, http.StatusOK, s.cancelCall(s.token(customer, "customer"), o.ID))
	default:
		o = s.boughtOrder(customer, sku, quantity)
		for _, next := range []order.Status{order.Fulfilling, order.Shipped, order.Delivered} {
			if o.Status == string(status) {
				break
			}
			o = want[orderBody](s, http.StatusOK, statusCall(s.asSeller(), o.ID, string(next)))
		}
	}
	o = s.readOrder(o.ID)
	if o.Status != string(status) {
		s.Fatalf("the order is %s, want %s", o.Status, status)
	}
	return o
}

// lapse lets the hold of an order be over.
func (w *world) expireReservation(orderID int) {
	w.Helper()
	w.exec("UPDATE orders SET reserved_until = now() - interval '1 second' WHERE id = $1 AND reserved_until IS NOT NULL", orderID)
}

// holds is the use case that a clock calls.
func (s *service) holds() *order.Service {
	return &order.Service{Store: s.store().Orders(), ReservationTTL: 15 * time.Minute}
}

// releaseReservations does once what the job does.
func (s *service) releaseReservations() {
	s.Helper()
	if _, err := s.holds().ReleaseExpiredReservations(s.Context(), 1000); err != nil {
		s.Fatal(err)
	}
}

// stockIs checks the counts of a product.
func (s *service) stockIs(sku string, onHand, reserved int) {
	s.Helper()
	if p := s.product(sku); p.OnHand != onHand || p.Reserved != reserved || p.Available != onHand-reserved {
		s.Errorf("of %s %d are on hand, %d reserved and %d available; want %d, %d and %d",
			sku, p.OnHand, p.Reserved, p.Available, onHand, reserved, onHand-reserved)
	}
}

// shot is a call and the replica it goes to.
type shot struct {
	to *service
	call
}

// together sends all calls at the same moment and gives the answers in their order. No
// answer may be a 5xx, whatever the race.
func together(t testing.TB, shots ...shot) []reply {
	t.Helper()
	replies := make([]reply, len(shots))
	errs := make([]error, len(shots))
	start := make(chan struct{})
	var done sync.WaitGroup
	for i, shot := range shots {
		done.Go(func() {
			<-start
			replies[i], errs[i] = shot.to.try(t.Context(), shot.call)
		})
	}
	close(start)
	done.Wait()
	for i, r := range replies {
		if errs[i] != nil {
			t.Fatalf("%s %s: %v", shots[i].method, shots[i].path, errs[i])
		}
		if r.status >= http.StatusInternalServerError {
			t.Errorf("%s %s: %d %s", shots[i].method, shots[i].path, r.status, r.body)
		}
	}
	return replies
}

// verdict is the status and the code of an answer in one: "200", "409 out_of_stock".
func (r reply) verdict() string {
	if code := r.code(); code != "" {
		return strconv.Itoa(r.status) + " " + code
	}
	return strconv.Itoa(r.status)
}

// pointers are the members that a problem blames.
func (r reply) pointers() []string {
	var problem struct{ Errors []struct{ Pointer string } }
	_ = json.Unmarshal(r.body, &problem) // any other body has none
	var pointers []string
	for _, e := range problem.Errors {
		pointers = append(pointers, e.Pointer)
	}
	return pointers
}
