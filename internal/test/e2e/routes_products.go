package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

var productRoutes = map[string]Route{
	"putProduct": {Prepare: putProduct, Access: productOwners},
	"adjustStock": {
		Prepare: adjustStock,
		Refusals: map[string]func(testing.TB, *Service) Refusal{
			"below what is reserved": adjustReservedStock, "too many units": adjustBeyondBounds,
		},
		Access: productOwners,
	},
	"getProduct":   {Prepare: getProduct, Access: anyRole},
	"listProducts": {Prepare: readPath("/products"), Access: anyRole},
}

func getProduct(t testing.TB, s *Service) Command {
	t.Helper()
	sku := s.UniqueName("coffee")
	s.PutProduct(t, sku, 7)
	return Command{Call: Call{Path: "/products/" + sku}, Status: http.StatusOK}
}

func putProduct(t testing.TB, s *Service) Command {
	t.Helper()
	sku := s.UniqueName("coffee")
	s.PutProduct(t, sku, 7)
	return Command{Call: s.PutPriceCall(t, sku, Shop, Roubles("100.00")), Status: http.StatusOK}
}

func adjustStock(t testing.TB, s *Service) Command {
	t.Helper()
	c, _ := onStock(t, s, 3)
	return c
}

// onStock prepares an adjustment to a new seller's product, with ten units in stock.
// The seller also has another product. Its effects are adjustments.
func onStock(t testing.TB, s *Service, change int) (c Command, sku string) {
	t.Helper()
	seller, rival := s.UniqueName("seller"), s.UniqueName("seller")
	tea, cup, foreign := s.UniqueName("tea"), s.UniqueName("cup"), s.UniqueName("foreign")
	for sku, owner := range map[string]string{tea: seller, cup: seller, foreign: rival} {
		Want[Product](t, s, http.StatusCreated, s.PutProductCall(t, sku, owner, Roubles("100.00"), 10))
		s.stock.LoadOrStore(sku, 10)
	}
	path := func(sku string) string { return "/products/" + sku + "/stock" }
	body := func(change int) string { return fmt.Sprintf(`{"reason": "count a/b", "change": %d}`, change) }
	return Command{
		Subject: seller, Role: "seller", Seller: seller, Status: http.StatusCreated,
		Call:      Call{Path: path(tea), Body: body(change)},
		OtherBody: body(change + 1),
		OtherPath: path(cup),
		Peer:      s.AdminToken(t), PeerStatus: http.StatusCreated,
		Locks:   Query{"SELECT FROM product WHERE sku = $1 FOR UPDATE", []any{tea}},
		Effects: Query{"SELECT count(*) FROM stock_adjustment WHERE sku = $1", []any{tea}},
		Denied: map[string]Call{
			"forbidden_resource": {Path: path(foreign), Body: body(change)},
			"not_found":          {Path: path(s.UniqueName("unknown")), Body: body(change)},
		},
	}, tea
}

func adjustReservedStock(t testing.TB, s *Service) Refusal {
	t.Helper()
	c, sku := onStock(t, s, -9)
	customer := s.UniqueName("customer")
	o := s.MustCreateOrder(t, customer, sku, 2)
	return Refusal{c, http.StatusConflict, "stock_reserved", func() {
		Want[Order](t, s, http.StatusOK, s.CancelCall(s.Token(t, customer, "customer"), o.ID))
	}}
}

func adjustBeyondBounds(t testing.TB, s *Service) Refusal {
	t.Helper()
	c, sku := onStock(t, s, 1_000_000_000)
	return Refusal{c, http.StatusUnprocessableEntity, "validation_failed", func() {
		s.Exec(t, "UPDATE product SET on_hand = 0 WHERE sku = $1", sku)
	}}
}
