package commands_test

import (
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// Deliveries, losses and orders of the same products, on two replicas.
func TestAdjustStock_ConcurrentAdjustmentsAddUp(t *testing.T) {
	t.Parallel()
	const rounds = 15
	a, b := e2e.StartTwoReplicas(t, e2e.Stock{"tea": 100, "cup": 100})
	both := `{"items": [{"sku": "tea", "quantity": 1}, {"sku": "cup", "quantity": 1}]}`
	var requests []e2e.Request
	for range rounds {
		requests = append(requests,
			a.Request(a.AdjustStockCall(a.SellerToken(t), "tea", 5)),
			b.Request(a.AdjustStockCall(a.SellerToken(t), "tea", -2)),
			b.Request(a.AdjustStockCall(a.AdminToken(t), "cup", 1)),
			a.Request(a.CreateOrderCall(t, e2e.Alice, "", 0).WithBody(both)),
		)
	}
	wantVerdicts(t, e2e.SendTogether(t, requests...), map[string]int{"201": 4 * rounds})
	a.WantStock(t, "tea", 100+3*rounds, rounds)
	a.WantStock(t, "cup", 100+rounds, rounds)
	if n := countDeadlocks(t, a.Env); n > 0 {
		t.Errorf("%d deadlocks: products are not locked in one order", n)
	}
}

// Of many losses only as many are possible as there are units that nobody has reserved.
func TestAdjustStock_NeverTakesReservedUnits(t *testing.T) {
	t.Parallel()
	const losses, available = 20, 7
	s := e2e.StartShop(t, e2e.Stock{"tea": available + 3})
	s.MustCreateOrder(t, e2e.Alice, "tea", 3)
	var calls []e2e.Call
	for range losses {
		calls = append(calls, s.AdjustStockCall(s.SellerToken(t), "tea", -1))
	}
	wantVerdicts(t, s.SendAllTogether(t, calls), map[string]int{"201": available, "409 stock_reserved": losses - available})
	s.WantStock(t, "tea", 3, 3)
}

func TestAdjustStock_ReturnsTheStockAfterIt(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10})
	call := s.AdjustStockCall(s.SellerToken(t), "tea", -4).WithBody(`{"change": -4, "reason": "a count"}`)
	got := e2e.Want[e2e.StockAdjustment](t, s, http.StatusCreated, call)
	if got.SKU != "tea" || got.Change != -4 || got.OnHand != 6 || got.Reason == nil || *got.Reason != "a count" {
		t.Errorf("the adjustment is %+v", got)
	}
	s.WantStock(t, "tea", 6, 0)
	if got := s.AdjustStock(t, "tea", 1); got.OnHand != 7 || got.Reason != nil {
		t.Errorf("the adjustment without a reason is %+v", got)
	}
}
