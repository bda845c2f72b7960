package routes

import (
	"fmt"
	"net/http"
	"testing"

	"example.com/orders/internal/test/e2e"
)

var orderRoutes = map[string]Route{
	"createOrder": {
		Prepare: createOrder,
		Refusals: refusals{
			"out of stock": orderOutOfStock, "unknown product": orderUnknownProduct, "too many unpaid orders": orderBeyondLimit,
		},
		Access: Access{Customer: ownerOnly, Seller: ownerOnly, Admin: nobody, System: nobody},
	},
	"createOrder with a reference": {Operation: "createOrder", Prepare: withReference(createOrder, http.StatusCreated)},
	"getOrderById":                 {Prepare: readOrderOf(""), Access: orderOwners},
	"listOrders": {
		Prepare: readPath("/orders"),
		Access:  Access{Customer: everybody, Seller: everybody, Admin: onRecord, System: nobody},
	},
	"reserveInventory": {
		Prepare: reserveInventory,
		Refusals: refusals{
			"stock sold meanwhile": reserveSoldStock, "paid already": reservePaidOrder, "extended too often": reserveBeyondLimit,
		},
		Access: Access{Customer: ownerOnly, Seller: ownerOnly, Admin: nobody, System: everybody},
	},
	"cancelOrder": {
		Prepare:  cancelOrder,
		Refusals: refusals{"shipped already": cancelShippedOrder},
		Access:   orderOwners,
	},
	"cancelOrder of a paid order": {Operation: "cancelOrder", Prepare: cancelPaidOrder},
	"updateOrderStatus":           {Prepare: updateOrderStatus, Access: productOwners},
}

func createOrder(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	customer, tea, cup := s.UniqueName("customer"), s.UniqueName("tea"), s.UniqueName("cup")
	s.PutProduct(t, tea, 100)
	s.PutProduct(t, cup, 100)
	body := func(customer string, cups int) string {
		return fmt.Sprintf(`{"items": [{"sku": %q, "quantity": 1}, {"sku": %q, "quantity": %d}], "customer_id": %q}`,
			tea, cup, cups, customer)
	}
	return Command{
		Subject: customer, Role: "customer", Customer: customer, Status: http.StatusCreated,
		Call:      e2e.Call{Path: "/orders", Body: body(customer, 2)},
		OtherBody: body(customer, 3),
		Peer:      s.SellerToken(t), PeerStatus: http.StatusCreated,
		Locks:   Query{"SELECT FROM product WHERE sku = $1 FOR UPDATE", []any{tea}},
		Effects: Query{"SELECT count(*) FROM orders WHERE customer_id = $1", []any{customer}},
		Denied: map[string]e2e.Call{
			"forbidden_resource": {Path: "/orders", Body: body("somebody-else", 2)},
		},
	}
}

func orderOutOfStock(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c := createOrder(t, s)
	scarce := s.UniqueName("scarce")
	s.PutProduct(t, scarce, 0)
	c.Call.Body = fmt.Sprintf(`{"items": [{"sku": %q, "quantity": 1}]}`, scarce)
	return Refusal{c, http.StatusConflict, "out_of_stock", func() { s.AdjustStock(t, scarce, 1) }}
}

func orderUnknownProduct(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c := createOrder(t, s)
	unknown := s.UniqueName("unknown")
	c.Call.Body = fmt.Sprintf(`{"items": [{"sku": %q, "quantity": 1}]}`, unknown)
	return Refusal{c, http.StatusUnprocessableEntity, "unknown_sku", func() { s.PutProduct(t, unknown, 1) }}
}

// orderBeyondLimit writes the unpaid orders without the service, which is faster.
func orderBeyondLimit(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c := createOrder(t, s)
	s.Exec(t, `INSERT INTO orders (customer_id, seller_id, status, total, currency, version, created_by, idempotency_key, created_at, updated_at)
		SELECT $1, $2, 'pending_payment', 1, 'RUB', 1, $1, 'unpaid-' || i, now(), now() FROM generate_series(1, $3) i`,
		c.Customer, e2e.Shop, s.Config.UnpaidOrders)
	return Refusal{c, http.StatusConflict, "unpaid_orders_limit", func() {
		s.Exec(t, "UPDATE orders SET status = 'paid' WHERE customer_id = $1 AND idempotency_key = 'unpaid-1'", c.Customer)
	}}
}

func readOrderOf(path string) func(testing.TB, *e2e.Service) Command {
	return func(t testing.TB, s *e2e.Service) Command {
		t.Helper()
		c, o := onOrder(t, s, "", "")
		s.MustPay(t, o)
		c.Call.Path = fmt.Sprintf("/orders/%d%s", o.ID, path)
		return c
	}
}

// onOrder prepares a command on a new customer's order. The customer also has a second
// order. Its effects are changes to the order's version.
func onOrder(t testing.TB, s *e2e.Service, command, body string) (Command, e2e.Order) {
	t.Helper()
	customer, sku := s.UniqueName("customer"), s.UniqueName("tea")
	s.PutProduct(t, sku, 100)
	o, other := s.MustCreateOrder(t, customer, sku, 2), s.MustCreateOrder(t, customer, sku, 2)
	foreign := s.MustCreateOrder(t, s.UniqueName("stranger"), sku, 1)
	path := func(id int) string { return fmt.Sprintf("/orders/%d/%s", id, command) }
	return Command{
		Subject: customer, Role: "customer", Customer: customer, Status: http.StatusOK,
		Call:      e2e.Call{Path: path(o.ID), Body: body},
		OtherPath: path(other.ID),
		Locks:     Query{"SELECT FROM orders WHERE id = $1 FOR UPDATE", []any{o.ID}},
		Effects:   Query{"SELECT version FROM orders WHERE id = $1", []any{o.ID}},
		Denied: map[string]e2e.Call{
			"forbidden_resource": {Path: path(foreign.ID), Body: body},
			"not_found":          {Path: path(1 << 50), Body: body},
		},
	}, o
}

func reserveInventory(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, _ := onOrder(t, s, "reservation", `{}`)
	c.Peer, c.PeerStatus = s.SellerToken(t), http.StatusOK
	return c
}

func reserveSoldStock(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, o := onOrder(t, s, "reservation", `{}`)
	s.Exec(t, "UPDATE orders SET reserved_until = NULL WHERE customer_id = $1", c.Customer)
	s.Exec(t, "UPDATE product SET reserved = 0, on_hand = 0 WHERE sku = (SELECT sku FROM order_item WHERE order_id = $1)", o.ID)
	return Refusal{c, http.StatusConflict, "out_of_stock", func() {
		s.Exec(t, "UPDATE product SET on_hand = 2 WHERE sku = (SELECT sku FROM order_item WHERE order_id = $1)", o.ID)
	}}
}

// reserveBeyondLimit writes the extensions without the service, which is faster.
func reserveBeyondLimit(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, o := onOrder(t, s, "reservation", `{}`)
	s.Exec(t, `INSERT INTO reservation_extension (order_id, created_by, idempotency_key, reserved_until, created_at)
		SELECT $1, $2, 'extended-' || i, now(), now() FROM generate_series(1, $3) i`,
		o.ID, c.Customer, s.Config.ReservationExtensions)
	return Refusal{c, http.StatusConflict, "reservation_limit", func() {
		s.Exec(t, "DELETE FROM reservation_extension WHERE order_id = $1 AND idempotency_key = 'extended-1'", o.ID)
	}}
}

func reservePaidOrder(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, o := onOrder(t, s, "reservation", `{}`)
	s.MustPay(t, o)
	return Refusal{c, http.StatusConflict, "invalid_order_state", nil}
}

func cancelOrder(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, _ := onCancellation(t, s)
	return c
}

func cancelPaidOrder(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, o := onCancellation(t, s)
	s.MustPay(t, o)
	return c
}

func onCancellation(t testing.TB, s *e2e.Service) (Command, e2e.Order) {
	t.Helper()
	c, o := onOrder(t, s, "cancel", `{"reason": "dropped a/b"}`)
	c.OtherBody = `{"reason": "dropped b/a"}`
	c.Peer, c.PeerStatus = s.SellerToken(t), http.StatusConflict // it is cancelled already
	return c, o
}

func cancelShippedOrder(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, o := onOrder(t, s, "cancel", `{}`)
	s.MustPay(t, o)
	s.Exec(t, "UPDATE orders SET status = 'shipped' WHERE id = $1", o.ID)
	return Refusal{c, http.StatusConflict, "invalid_order_state", func() {
		s.Exec(t, "UPDATE orders SET status = 'fulfilling' WHERE id = $1", o.ID)
	}}
}

func updateOrderStatus(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, o := onOrder(t, s, "status", `{"status": "fulfilling"}`)
	s.MustPay(t, o)
	return c
}

var productRoutes = map[string]Route{
	"putProduct": {Prepare: putProduct, Access: productOwners},
	"adjustStock": {
		Prepare: adjustStock,
		Refusals: refusals{
			"below what is reserved": adjustReservedStock, "too many units": adjustBeyondBounds,
		},
		Access: productOwners,
	},
	"adjustStock with a reference": {Operation: "adjustStock", Prepare: withReference(adjustStock, http.StatusCreated)},
	"getProduct":                   {Prepare: getProduct, Access: anyRole},
	"listProducts":                 {Prepare: readPath("/products"), Access: anyRole},
}

func getProduct(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	sku := s.UniqueName("coffee")
	s.PutProduct(t, sku, 7)
	return Command{Call: e2e.Call{Path: "/products/" + sku}, Status: http.StatusOK}
}

func putProduct(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	sku := s.UniqueName("coffee")
	s.PutProduct(t, sku, 7)
	return Command{Call: s.PutPriceCall(t, sku, e2e.Shop, e2e.Roubles("100.00")), Status: http.StatusOK}
}

func adjustStock(t testing.TB, s *e2e.Service) Command {
	t.Helper()
	c, _ := onStock(t, s, 3)
	return c
}

// onStock prepares an adjustment to a new seller's product, with ten units in stock.
// The seller also has a second product. The effects are adjustments.
func onStock(t testing.TB, s *e2e.Service, change int) (c Command, sku string) {
	t.Helper()
	seller, rival := s.UniqueName("seller"), s.UniqueName("seller")
	tea, cup, foreign := s.UniqueName("tea"), s.UniqueName("cup"), s.UniqueName("foreign")
	for sku, owner := range map[string]string{tea: seller, cup: seller, foreign: rival} {
		s.PutProductOf(t, owner, sku, 10)
	}
	path := func(sku string) string { return "/products/" + sku + "/stock" }
	body := func(change int) string { return fmt.Sprintf(`{"reason": "count a/b", "change": %d}`, change) }
	return Command{
		Subject: seller, Role: "seller", Seller: seller, Status: http.StatusCreated,
		Call:      e2e.Call{Path: path(tea), Body: body(change)},
		OtherBody: body(change + 1),
		OtherPath: path(cup),
		Peer:      s.AdminToken(t), PeerStatus: http.StatusCreated,
		Locks:   Query{"SELECT FROM product WHERE sku = $1 FOR UPDATE", []any{tea}},
		Effects: Query{"SELECT count(*) FROM stock_adjustment WHERE sku = $1", []any{tea}},
		Denied: map[string]e2e.Call{
			"forbidden_resource": {Path: path(foreign), Body: body(change)},
			"not_found":          {Path: path(s.UniqueName("unknown")), Body: body(change)},
		},
	}, tea
}

func adjustReservedStock(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, sku := onStock(t, s, -9)
	customer := s.UniqueName("customer")
	o := s.MustCreateOrder(t, customer, sku, 2)
	return Refusal{c, http.StatusConflict, "stock_reserved", func() {
		e2e.Want[e2e.Order](t, s, http.StatusOK, s.CancelCall(s.Token(t, customer, "customer"), o.ID))
	}}
}

func adjustBeyondBounds(t testing.TB, s *e2e.Service) Refusal {
	t.Helper()
	c, sku := onStock(t, s, 1_000_000_000)
	return Refusal{c, http.StatusUnprocessableEntity, "validation_failed", func() {
		s.Exec(t, "UPDATE product SET on_hand = 0 WHERE sku = $1", sku)
	}}
}
