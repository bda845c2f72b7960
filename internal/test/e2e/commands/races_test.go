package commands_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core/order"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/e2e/routes"
	"example.com/orders/internal/test/invariants"
)

// raceRounds is how often each race is run, so that either side may win.
const raceRounds = 30

// races are commands that meet on one order of Alice. The invariants that a shop checks
// say whether stock and money are right afterwards.
var races = map[string]struct {
	from  order.Status
	calls func(t testing.TB, s *e2e.Service, o e2e.Order) []e2e.Call
	// ends are the status of the order afterwards, by the verdicts that are allowed.
	ends map[string]string
}{
	"cancel, confirm": {order.PendingPayment, func(t testing.TB, s *e2e.Service, o e2e.Order) []e2e.Call {
		t.Helper()
		s.Credit(t, e2e.Alice, o.Total.Amount)
		return []e2e.Call{s.CancelCall(s.CustomerToken(t), o.ID), s.ConfirmCall(t, e2e.Alice, o.ID)}
	}, map[string]string{
		"200, 200":                     "cancelled", // what has been paid can still be cancelled
		"200, 409 invalid_order_state": "cancelled",
	}},
	"cancel, refund in part": {order.Paid, func(t testing.TB, s *e2e.Service, o e2e.Order) []e2e.Call {
		t.Helper()
		return []e2e.Call{s.CancelCall(s.CustomerToken(t), o.ID), s.RefundCall(s.CustomerToken(t), o.ID, "30.00")}
	}, map[string]string{"200, 200": "cancelled", "200, 409 refund_exceeds_payment": "cancelled"}},
	"cancel, refund in full": {order.Paid, func(t testing.TB, s *e2e.Service, o e2e.Order) []e2e.Call {
		t.Helper()
		return []e2e.Call{s.CancelCall(s.CustomerToken(t), o.ID), s.RefundCall(s.CustomerToken(t), o.ID, "")}
	}, map[string]string{"200, 409 refund_exceeds_payment": "cancelled", "409 invalid_order_state, 200": "cancelled"}},
	"cancel, reserve": {order.PendingPayment, func(t testing.TB, s *e2e.Service, o e2e.Order) []e2e.Call {
		t.Helper()
		return []e2e.Call{s.CancelCall(s.CustomerToken(t), o.ID), s.ReserveCall(s.SystemToken(t), o.ID)}
	}, map[string]string{"200, 200": "cancelled", "200, 409 invalid_order_state": "cancelled"}},
	"cancel, reserve after the release": {order.PendingPayment, func(t testing.TB, s *e2e.Service, o e2e.Order) []e2e.Call {
		t.Helper()
		s.ExpireReservation(t, o.ID)
		s.ReleaseExpiredReservations(t)
		return []e2e.Call{s.CancelCall(s.CustomerToken(t), o.ID), s.ReserveCall(s.SystemToken(t), o.ID)}
	}, map[string]string{"200, 200": "cancelled", "200, 409 invalid_order_state": "cancelled"}},
	"fulfil twice, cancel": {order.Paid, func(t testing.TB, s *e2e.Service, o e2e.Order) []e2e.Call {
		t.Helper()
		fulfil := e2e.StatusCall(s.SellerToken(t), o.ID, "fulfilling")
		return []e2e.Call{fulfil, fulfil, s.CancelCall(s.CustomerToken(t), o.ID)}
	}, map[string]string{
		"200, 409 invalid_order_state, 200":                     "cancelled",
		"409 invalid_order_state, 200, 200":                     "cancelled",
		"409 invalid_order_state, 409 invalid_order_state, 200": "cancelled",
	}},
	"ship twice, cancel": {order.Fulfilling, func(t testing.TB, s *e2e.Service, o e2e.Order) []e2e.Call {
		t.Helper()
		ship := e2e.StatusCall(s.SellerToken(t), o.ID, "shipped")
		return []e2e.Call{ship, ship, s.CancelCall(s.CustomerToken(t), o.ID)}
	}, map[string]string{
		"200, 409 invalid_order_state, 409 invalid_order_state": "shipped",
		"409 invalid_order_state, 200, 409 invalid_order_state": "shipped",
		"409 invalid_order_state, 409 invalid_order_state, 200": "cancelled",
	}},
}

// endOf returns the verdicts of a round.
func endOf(replies []e2e.Reply) string {
	var verdicts []string
	for _, r := range replies {
		verdicts = append(verdicts, r.Verdict())
	}
	return strings.Join(verdicts, ", ")
}

func TestOrder_IsRightAfterEveryRace(t *testing.T) {
	t.Parallel()
	for name, c := range races {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := e2e.StartTwoReplicas(t, e2e.Stock{"tea": 1000})
			for range raceRounds {
				o := a.MustCreateOrderIn(t, c.from, e2e.Alice, "tea")
				var requests []e2e.Request
				for i, call := range c.calls(t, a, o) {
					requests = append(requests, []*e2e.Service{a, b}[i%2].Request(call))
				}
				end := endOf(e2e.SendTogether(t, requests...))
				status, allowed := c.ends[end]
				if !allowed {
					t.Fatalf("ended as %s", end)
				}
				a.WantOrderStatus(t, o.ID, status)
			}
		})
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
		wantVerdicts(t, e2e.SendTogether(t, refunds...), map[string]int{"200": 3, "409 refund_exceeds_payment": 7})
	}
	a.WantBalance(t, e2e.Alice, fmt.Sprintf("%d.00", 90*raceRounds))
}

// The reservation expires while the order is paid and expired reservations are
// released: either the order is paid and its unit sold, or the payment is refused and
// the unit free.
func TestConfirmPayment_RacesExpiryOfReservation(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 1})
	s.Credit(t, e2e.Alice, "100.00")
	ends := map[string]int{}
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
		r := s.Send(t, s.ConfirmCall(t, e2e.Alice, o.ID))
		stop()
		ends[r.Verdict()]++
		switch r.Verdict() {
		case "200":
			if left < 0 {
				t.Errorf("round %d: paid %s after the reservation expired", round, -left)
			}
			s.WantStock(t, "tea", 0, 0)
			s.MustSend(t, s.CancelCall(s.CustomerToken(t), o.ID))
		case "409 reservation_expired":
			s.ReleaseExpiredReservations(t)
			s.WantOrderStatus(t, o.ID, "pending_payment")
		default:
			t.Errorf("confirm: %s", r.Body)
		}
		s.WantStock(t, "tea", 1, 0)
		s.WantBalance(t, e2e.Alice, "100.00")
	}
	if len(ends) != 2 {
		t.Errorf("all rounds ended the same way: %v", ends)
	}
}

// The seller counts the stock while a customer pays. Either the count comes first, and the
// sale is taken from it; or it comes too late, and is refused.
func TestPutProduct_RacesConfirmPayment(t *testing.T) {
	t.Parallel()
	a, b := e2e.StartTwoReplicas(t, nil)
	a.Credit(t, e2e.Alice, "100000.00")
	for range raceRounds {
		sku := a.UniqueName("tea")
		a.PutProduct(t, sku, 1)
		o := a.MustCreateOrder(t, e2e.Alice, sku, 1)
		etag := a.MustSend(t, e2e.Get(a.SellerToken(t), "/products/"+sku)).Header.Get("ETag")
		count := a.PutProductCall(t, sku, e2e.Shop, e2e.Roubles("100.00"), 10).WithHeader("If-Match", etag)
		end := endOf(e2e.SendTogether(t, a.Request(count), b.Request(a.ConfirmCall(t, e2e.Alice, o.ID))))
		left, allowed := map[string]int{"200, 200": 9, "412 precondition_failed, 200": 0}[end]
		if !allowed {
			t.Fatalf("ended as %s", end)
		}
		a.WantStock(t, sku, left, 0)
		a.Exec(t, "UPDATE product SET on_hand = 0 WHERE sku = $1", sku) // a count is no adjustment
	}
}

// What a seller does who has read the product: another one was faster, so they read it
// again.
func TestPutProduct_ReplacesWhatTheSellerHasSeen(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t)
	etag := s.MustSend(t, s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), 10)).Header.Get("ETag")
	s.MustCreateOrder(t, e2e.Alice, "tea", 1) // a reservation changes nothing that a PUT replaces
	count := func(onHand int, etag string) e2e.Call {
		return s.PutProductCall(t, "tea", e2e.Shop, e2e.Roubles("100.00"), onHand).WithHeader("If-Match", etag)
	}

	first := s.MustSend(t, count(12, etag))
	s.WantProblem(t, http.StatusPreconditionFailed, "precondition_failed", count(15, etag))
	read := s.MustSend(t, e2e.Get(s.SellerToken(t), "/products/tea"))
	if got, want := read.Header.Get("ETag"), first.Header.Get("ETag"); got != want || got == etag {
		t.Errorf("the product has the ETag %s, the response to its PUT %s, the first one %s", got, want, etag)
	}
	s.MustSend(t, count(15, `"from-elsewhere", `+read.Header.Get("ETag")))
	s.WantStock(t, "tea", 15, 1)
}

// manyConnections is the setting of a replica that lets many transactions meet in the
// database.
func manyConnections(t testing.TB, env *e2e.Env) string {
	t.Helper()
	return env.DatabaseSetting(t, "pool_max_conns", "16")
}

// wantVerdicts counts the responses by verdict: "201", "409 out_of_stock".
func wantVerdicts(t *testing.T, replies []e2e.Reply, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, r := range replies {
		got[r.Verdict()]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("responses by verdict (-want +got):\n%s", diff)
	}
}

// Payments of a customer, orders, credits and changes of the stock, all about the same
// balance and products: every lock there is, taken at the same time.
func TestCommands_DoNotDeadlock(t *testing.T) {
	t.Parallel()
	const rounds = 12
	env := e2e.NewEnv(t)
	s := env.StartReplica(t, manyConnections(t, env))
	s.StockUp(t, e2e.Stock{"tea": 1000, "rum": 1000})
	s.Credit(t, e2e.Alice, "100000.00")
	var calls []e2e.Call
	for range rounds {
		both := `{"items": [{"sku": "tea", "quantity": 1}, {"sku": "rum", "quantity": 1}]}`
		inReverse := `{"items": [{"sku": "rum", "quantity": 1}, {"sku": "tea", "quantity": 1}]}`
		calls = append(calls,
			s.ConfirmCall(t, e2e.Alice, s.MustCreateOrder(t, e2e.Alice, "tea", 1).ID),
			s.ConfirmCall(t, e2e.Alice, s.MustCreateOrder(t, e2e.Alice, "rum", 1).ID),
			s.CreditCall(t, e2e.Alice, "1.00"),
			s.AdjustStockCall(s.SellerToken(t), "rum", 2),
			s.AdjustStockCall(s.AdminToken(t), "tea", -1),
			s.CreateOrderCall(t, "ann", "", 0).WithBody(both),
			s.CreateOrderCall(t, "ben", "", 0).WithBody(inReverse),
			s.PutPriceCall(t, "tea", e2e.Shop, e2e.Roubles("100.00")),
		)
	}

	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{"200": 3 * rounds, "201": 5 * rounds})

	s.WantBalance(t, e2e.Alice, fmt.Sprintf("%d.00", 100000+rounds-2*rounds*100))
	s.WantStock(t, "tea", 1000-2*rounds, 2*rounds)
	s.WantStock(t, "rum", 1000+rounds, 2*rounds)
	s.Exec(t, `SELECT pg_stat_force_next_flush()`)
	if n := s.Count(t, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n > 0 {
		t.Errorf("%d deadlocks: rows are not locked in one order", n)
	}
}

// Each request is sent under another key, so no key can stop it.
func TestReference_OneOfManyKeysTakesEffect(t *testing.T) {
	t.Parallel()
	const rounds, keys = 5, 8
	a, b := e2e.StartTwoReplicas(t, nil)
	for _, route := range []string{
		"createOrder with a reference", "chargeBalance with a reference", "creditBalance with a reference", "adjustStock with a reference",
		"refundPayment with a reference",
	} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			for range rounds {
				c := routes.Prepare(t, a, route)
				var requests []e2e.Request
				for i := range keys {
					requests = append(requests, []*e2e.Service{a, b}[i%2].Request(c.WithKey(c.NewKey())))
				}
				wantVerdicts(t, e2e.SendTogether(t, requests...), map[string]int{fmt.Sprint(c.Status): 1, "409 reference_taken": keys - 1})
				c.WantEffects(t, 1)
			}
		})
	}
}

// The orders share no product, so nothing but the lock of the customer keeps them apart.
func TestHoarding_BoundHoldsForConcurrentOrders(t *testing.T) {
	t.Parallel()
	const limit, attempts = 50, 60
	env := e2e.NewEnv(t)
	replicas := []*e2e.Service{env.StartReplica(t, manyConnections(t, env)), env.StartReplica(t, manyConnections(t, env))}
	var requests []e2e.Request
	for i := range attempts {
		sku := fmt.Sprintf("sku-%d", i)
		replicas[0].PutProduct(t, sku, 1)
		requests = append(requests, replicas[i%2].Request(env.CreateOrderCall(t, e2e.Alice, sku, 1)))
	}
	wantVerdicts(t, e2e.SendTogether(t, requests...), map[string]int{"201": limit, "409 unpaid_orders_limit": attempts - limit})
}

// Extensions of one order wait for its row, so the bound is exact for them, too.
func TestHoarding_BoundHoldsForConcurrentExtensions(t *testing.T) {
	t.Parallel()
	const limit, attempts = 8, 20
	s := e2e.StartShop(t, e2e.Stock{"tea": 1})
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	var calls []e2e.Call
	for i := range attempts {
		calls = append(calls, s.ReserveCall([]string{s.CustomerToken(t), s.SellerToken(t), s.SystemToken(t)}[i%3], o.ID))
	}
	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{"200": limit, "409 reservation_limit": attempts - limit})
}

// crowd is two replicas for many clients that want the same thing at the same moment.
type crowd struct {
	*e2e.Env
	replicas [2]*e2e.Service
}

func startCrowd(t testing.TB) *crowd {
	t.Helper()
	c := &crowd{Env: e2e.NewEnv(t)}
	for i := range c.replicas {
		c.replicas[i] = c.StartReplica(t, "ORDERS_ADMIN_ADDR="+e2e.FreeAddr(t))
		c.replicas[i].Run(t)
	}
	return c
}

// send sends all calls at the same moment, and then again to the other replica, which must
// find the responses. The commands must have shared transactions.
func (c *crowd) send(t testing.TB, calls []e2e.Call) []e2e.Reply {
	t.Helper()
	var first, again []e2e.Request
	for i, call := range calls {
		first = append(first, c.replicas[i%2].Request(call))
		again = append(again, c.replicas[(i+1)%2].Request(call))
	}
	replies := e2e.SendTogether(t, first...)
	for _, r := range c.replicas {
		if e2e.SharedTransactions(t, r.Config.AdminAddr) == 0 {
			t.Error("no command ran in the transaction of another")
		}
	}
	for i, replay := range e2e.SendTogether(t, again...) {
		if !replay.SameAs(replies[i]) || replay.Header.Get("Idempotency-Result") != "reused" {
			t.Errorf("%d %s was replayed as %d %s", replies[i].Status, replies[i].Body, replay.Status, replay.Body)
		}
	}
	return replies
}

func TestCreateOrder_SellsHotProductOnce(t *testing.T) {
	t.Parallel()
	const customers, units = 200, 50
	c := startCrowd(t)
	c.replicas[0].PutProduct(t, "tea", units)
	var calls []e2e.Call
	for i := range customers {
		calls = append(calls, c.CreateOrderCall(t, fmt.Sprintf("customer-%d", i), "tea", 1))
	}

	replies := c.send(t, calls)

	wantVerdicts(t, replies, map[string]int{"201": units, "409 out_of_stock": customers - units})
	c.replicas[0].WantStock(t, "tea", units, units)
	invariants.Check(t, c.DB, nil)
}
