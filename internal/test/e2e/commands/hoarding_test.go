package commands_test

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

// sellerOrderCall is the call with which the shop orders one unit of tea for a customer.
func sellerOrderCall(t testing.TB, s *e2e.Service, customer string) e2e.Call {
	t.Helper()
	return s.CreateOrderCall(t, customer, "tea", 1).WithToken(s.SellerToken(t)).
		WithBody(fmt.Sprintf(`{"customer_id": %q, "items": [{"sku": "tea", "quantity": 1}]}`, customer))
}

// A customer who has no money holds a bounded part of the stock, for a bounded time.
func TestHoarding_IsBounded(t *testing.T) {
	t.Parallel()
	const unpaid, extensions = 3, 2
	s := e2e.StartShop(t, e2e.Stock{"tea": 10},
		fmt.Sprintf("ORDERS_UNPAID_ORDERS=%d", unpaid), fmt.Sprintf("ORDERS_RESERVATION_EXTENSIONS=%d", extensions))
	customer := s.CustomerToken(t)
	var orders []e2e.Order
	for range unpaid {
		orders = append(orders, s.MustCreateOrder(t, e2e.Alice, "tea", 1))
	}
	s.WantProblem(t, http.StatusConflict, "unpaid_orders_limit", s.CreateOrderCall(t, e2e.Alice, "tea", 1))
	s.WantStock(t, "tea", 10, unpaid)
	for _, o := range orders {
		for range extensions {
			e2e.Want[e2e.Order](t, s, http.StatusOK, s.ReserveCall(customer, o.ID))
		}
		s.WantProblem(t, http.StatusConflict, "reservation_limit", s.ReserveCall(customer, o.ID))
		s.ExpireReservation(t, o.ID)
	}
	s.ReleaseExpiredReservations(t)
	s.WantStock(t, "tea", 10, 0)
	s.WantProblem(t, http.StatusConflict, "reservation_limit", s.ReserveCall(customer, orders[0].ID))
	s.WantProblem(t, http.StatusConflict, "unpaid_orders_limit", s.CreateOrderCall(t, e2e.Alice, "tea", 1))
	s.WantStock(t, "tea", 10, 0)
}

func TestHoarding_PayingOrCancellingAnOrderMakesRoom(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10}, "ORDERS_UNPAID_ORDERS=2")
	first, second := s.MustCreateOrder(t, e2e.Alice, "tea", 1), s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.WantProblem(t, http.StatusConflict, "unpaid_orders_limit", s.CreateOrderCall(t, e2e.Alice, "tea", 1))
	s.MustPay(t, first)
	s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.WantProblem(t, http.StatusConflict, "unpaid_orders_limit", s.CreateOrderCall(t, e2e.Alice, "tea", 1))
	e2e.Want[e2e.Order](t, s, http.StatusOK, s.CancelCall(s.CustomerToken(t), second.ID))
	s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.WantProblem(t, http.StatusConflict, "unpaid_orders_limit", s.CreateOrderCall(t, e2e.Alice, "tea", 1))
}

// A seller can order in the name of any customer. That must not keep the customer from
// ordering.
func TestHoarding_SellersDoNotUseTheBoundOfACustomer(t *testing.T) {
	t.Parallel()
	s := e2e.StartShop(t, e2e.Stock{"tea": 10}, "ORDERS_UNPAID_ORDERS=2")
	for range 2 {
		e2e.Want[e2e.Order](t, s, http.StatusCreated, sellerOrderCall(t, s, e2e.Alice))
	}
	s.WantProblem(t, http.StatusConflict, "unpaid_orders_limit", sellerOrderCall(t, s, e2e.Alice))
	e2e.Want[e2e.Order](t, s, http.StatusCreated, sellerOrderCall(t, s, e2e.Mallory))
	for range 2 {
		s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	}
	s.WantProblem(t, http.StatusConflict, "unpaid_orders_limit", s.CreateOrderCall(t, e2e.Alice, "tea", 1))
}

func TestHoarding_ZeroIsNoBound(t *testing.T) {
	t.Parallel()
	const many = 60 // more than the defaults
	s := e2e.StartShop(t, e2e.Stock{"tea": many}, "ORDERS_UNPAID_ORDERS=0", "ORDERS_RESERVATION_EXTENSIONS=0")
	var orders, extensions []e2e.Call
	o := s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	for range many - 1 {
		orders = append(orders, s.CreateOrderCall(t, e2e.Alice, "tea", 1))
		extensions = append(extensions, s.ReserveCall(s.CustomerToken(t), o.ID))
	}
	wantVerdicts(t, s.SendAllTogether(t, orders), map[string]int{"201": many - 1})
	wantVerdicts(t, s.SendAllTogether(t, extensions), map[string]int{"200": many - 1})
}

// The orders share no product, so nothing but the lock of the customer keeps them apart.
func TestHoarding_BoundHoldsForConcurrentOrders(t *testing.T) {
	t.Parallel()
	const limit, attempts = 50, 60
	env := e2e.NewEnv(t)
	a, b := env.StartReplica(t, manyConnections(t, env)), env.StartReplica(t, manyConnections(t, env))
	if a.Config.UnpaidOrders != limit {
		t.Fatalf("the default is %d, want %d", a.Config.UnpaidOrders, limit)
	}
	var requests []e2e.Request
	for i := range attempts {
		sku := fmt.Sprintf("sku-%d", i)
		a.PutProduct(t, sku, 1)
		requests = append(requests, []*e2e.Service{a, b}[i%2].Request(a.CreateOrderCall(t, e2e.Alice, sku, 1)))
	}
	wantVerdicts(t, e2e.SendTogether(t, requests...), map[string]int{"201": limit, "409 unpaid_orders_limit": attempts - limit})
	if n := a.Count(t, "SELECT count(*) FROM orders"); n != limit {
		t.Errorf("%d orders, want %d", n, limit)
	}
	e2e.CheckInvariants(t, a.DB, nil)
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
