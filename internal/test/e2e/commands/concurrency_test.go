package commands_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/test/e2e"
)

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
	for _, route := range []string{"createOrder with a reference", "chargeBalance with a reference", "creditBalance with a reference"} {
		t.Run(route, func(t *testing.T) {
			t.Parallel()
			for range rounds {
				c := a.Prepare(t, route)
				var requests []e2e.Request
				for i := range keys {
					requests = append(requests, []*e2e.Service{a, b}[i%2].Request(c.WithKey(c.NewKey())))
				}
				wantVerdicts(t, e2e.SendTogether(t, requests...), map[string]int{"201": 1, "409 reference_taken": keys - 1})
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
	e2e.CheckInvariants(t, c.DB, nil)
}
