package commands_test

import (
	"fmt"
	"testing"

	"example.com/orders/internal/test/e2e"
)

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
