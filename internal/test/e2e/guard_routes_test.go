package e2e_test

import (
	"fmt"
	"net/http"
)

// guardedRoutes is every guarded route by its operation.
var guardedRoutes = map[string]guardedRoute{
	"createOrder": {createOrderScene, map[string]func(*service) refusal{
		"out of stock":    outOfStock,
		"unknown product": unknownProduct,
	}},
	"reserveInventory": {reserveInventoryScene, map[string]func(*service) refusal{
		"out of stock": stockGoneMeanwhile,
		"paid already": reservingPaidOrder,
	}},
	"confirmPayment": {confirmPaymentScene, map[string]func(*service) refusal{
		"insufficient funds": payingWithoutMoney,
		"paid already":       payingPaidOrder,
		"no cards here":      payingByCard,
	}},
	"refundPayment": {refundPaymentScene, map[string]func(*service) refusal{
		"more than was paid": refundingTooMuch,
		"not paid yet":       refundingUnpaidOrder,
	}},
	"cancelOrder": {cancelOrderScene, map[string]func(*service) refusal{
		"shipped already": cancellingShippedOrder,
	}},
	"chargeBalance": {chargeBalanceScene, map[string]func(*service) refusal{
		"insufficient funds": chargingWithoutMoney,
	}},
	"creditBalance": {creditBalanceScene, map[string]func(*service) refusal{
		"too large a balance": creditingTooMuch,
	}},
}

// Orders.

func createOrderScene(s *service) scene {
	s.Helper()
	customer, tea, cup := s.name("customer"), s.name("tea"), s.name("cup")
	s.putProduct(tea, 100)
	s.putProduct(cup, 100)
	body := func(customer string, cups int) string {
		return fmt.Sprintf(`{"items": [{"sku": %q, "quantity": 1}, {"sku": %q, "quantity": %d}], "customer_id": %q}`,
			tea, cup, cups, customer)
	}
	return scene{
		subject: customer, role: "customer", status: http.StatusCreated,
		call:  call{path: "/orders", body: body(customer, 2)},
		other: body(customer, 3),
		peer:  s.token(shop, "seller"), peerStatus: http.StatusCreated,
		locks:   query{"SELECT FROM product WHERE sku = $1 FOR UPDATE", []any{tea}},
		effects: query{"SELECT count(*) FROM orders WHERE customer_id = $1", []any{customer}},
		turnedAway: map[string]call{
			"forbidden_resource": {path: "/orders", body: body("somebody-else", 2)},
		},
	}
}

func outOfStock(s *service) refusal {
	s.Helper()
	c := createOrderScene(s)
	scarce := s.name("scarce")
	s.putProduct(scarce, 0)
	c.call.body = fmt.Sprintf(`{"items": [{"sku": %q, "quantity": 1}]}`, scarce)
	return refusal{c, http.StatusConflict, "out_of_stock", func() { s.putProduct(scarce, 1) }}
}

func unknownProduct(s *service) refusal {
	s.Helper()
	c := createOrderScene(s)
	unknown := s.name("unknown")
	c.call.body = fmt.Sprintf(`{"items": [{"sku": %q, "quantity": 1}]}`, unknown)
	return refusal{c, http.StatusUnprocessableEntity, "unknown_sku", func() { s.putProduct(unknown, 1) }}
}

// onOrder is a scene about an order of a new customer, with another order of theirs
// elsewhere. Of an order, version counts the changes.
func onOrder(s *service, command, body string) (scene, orderBody) {
	s.Helper()
	customer, sku := s.name("customer"), s.name("tea")
	s.putProduct(sku, 100)
	o, another := s.order(customer, sku, 2), s.order(customer, sku, 2)
	path := func(id int) string { return fmt.Sprintf("/orders/%d/%s", id, command) }
	foreign := s.order(s.name("stranger"), sku, 1)
	return scene{
		subject: customer, role: "customer", status: http.StatusOK,
		call:      call{path: path(o.ID), body: body},
		elsewhere: path(another.ID),
		locks:     query{"SELECT FROM orders WHERE id = $1 FOR UPDATE", []any{o.ID}},
		effects:   query{"SELECT version FROM orders WHERE id = $1", []any{o.ID}},
		turnedAway: map[string]call{
			"forbidden_resource": {path: path(foreign.ID), body: body},
			"not_found":          {path: path(1 << 50), body: body},
		},
	}, o
}

// pay pays an order of a customer, who gets the money for it first.
func (s *service) pay(o orderBody) {
	s.Helper()
	s.credit(o.CustomerID, o.Total.Amount)
	want[paymentBody](s, http.StatusOK, s.confirmCall(o.CustomerID, o.ID, s.newKey()))
}

func reserveInventoryScene(s *service) scene {
	s.Helper()
	c, _ := onOrder(s, "reservation", `{}`)
	c.peer, c.peerStatus = s.token(shop, "seller"), http.StatusOK
	return c
}

func stockGoneMeanwhile(s *service) refusal {
	s.Helper()
	c, o := onOrder(s, "reservation", `{}`)
	s.exec("UPDATE orders SET reserved_until = NULL WHERE customer_id = $1", c.subject)
	s.exec("UPDATE product SET reserved = 0, on_hand = 0 WHERE sku = (SELECT sku FROM order_item WHERE order_id = $1)", o.ID)
	return refusal{c, http.StatusConflict, "out_of_stock", func() {
		s.exec("UPDATE product SET on_hand = 2 WHERE sku = (SELECT sku FROM order_item WHERE order_id = $1)", o.ID)
	}}
}

func reservingPaidOrder(s *service) refusal {
	s.Helper()
	c, o := onOrder(s, "reservation", `{}`)
	s.pay(o)
	return refusal{c, http.StatusConflict, "invalid_order_state", nil}
}

func cancelOrderScene(s *service) scene {
	s.Helper()
	c, _ := onOrder(s, "cancel", `{"reason": "dropped a/b"}`)
	c.other = `{"reason": "dropped b/a"}`
	c.peer, c.peerStatus = s.token(shop, "seller"), http.StatusConflict // it is cancelled already
	return c
}

func cancellingShippedOrder(s *service) refusal {
	s.Helper()
	c, o := onOrder(s, "cancel", `{}`)
	s.pay(o)
	s.exec("UPDATE orders SET status = 'shipped' WHERE id = $1", o.ID)
	return refusal{c, http.StatusConflict, "invalid_order_state", func() {
		s.exec("UPDATE orders SET status = 'fulfilling' WHERE id = $1", o.ID)
	}}
}

// Payments.

// confirmPaymentScene pays an order for which there is money enough.
func confirmPaymentScene(s *service) scene {
	s.Helper()
	c, o := onOrder(s, "payment/confirm", `{"method": "balance"}`)
	s.credit(c.subject, "1000.00")
	c.other = `{"method": "card", "payment_method": "pm_card_visa"}`
	c.peer, c.peerStatus = s.token(s.name("customer"), "customer"), http.StatusForbidden
	c.effects = query{"SELECT count(*) FROM payment WHERE order_id = $1", []any{o.ID}}
	return c
}

func payingWithoutMoney(s *service) refusal {
	s.Helper()
	c, o := onOrder(s, "payment/confirm", `{"method": "balance"}`)
	c.effects = query{"SELECT count(*) FROM payment WHERE order_id = $1", []any{o.ID}}
	return refusal{c, http.StatusPaymentRequired, "insufficient_funds", func() { s.credit(c.subject, "1000.00") }}
}

func payingPaidOrder(s *service) refusal {
	s.Helper()
	c, o := onOrder(s, "payment/confirm", `{"method": "balance"}`)
	s.pay(o)
	return refusal{c, http.StatusConflict, "invalid_order_state", nil}
}

func payingByCard(s *service) refusal {
	s.Helper()
	c, _ := onOrder(s, "payment/confirm", `{"method": "card", "payment_method": "pm_card_visa"}`)
	return refusal{c, http.StatusUnprocessableEntity, "payment_method_unavailable", nil}
}

func refundPaymentScene(s *service) scene {
	s.Helper()
	c, o := onOrder(s, "payment/refund", refundOf("10.00"))
	s.pay(o)
	c.other = refundOf("20.00")
	c.peer, c.peerStatus = s.token(root, "admin"), http.StatusOK
	c.effects = query{"SELECT count(*) FROM refund WHERE order_id = $1", []any{o.ID}}
	return c
}

func refundOf(amount string) string {
	return fmt.Sprintf(`{"reason": "dented a/b", "amount": {"currency": "RUB", "amount": %q}}`, amount)
}

func refundingTooMuch(s *service) refusal {
	s.Helper()
	c, o := onOrder(s, "payment/refund", refundOf("200.01"))
	s.pay(o)
	return refusal{c, http.StatusConflict, "refund_exceeds_payment", nil}
}

func refundingUnpaidOrder(s *service) refusal {
	s.Helper()
	c, o := onOrder(s, "payment/refund", refundOf("10.00"))
	c.effects = query{"SELECT count(*) FROM refund WHERE order_id = $1", []any{o.ID}}
	return refusal{c, http.StatusConflict, "invalid_order_state", func() { s.pay(o) }}
}

// Balances.

// onBalance is a scene about the balance of a new customer, which is not empty.
func onBalance(s *service, kind, amount, another string) scene {
	s.Helper()
	customer := s.name("customer")
	s.credit(customer, "100.00")
	path := func(customer string) string { return "/customers/" + customer + "/balance/" + kind }
	body := func(amount string) string {
		return fmt.Sprintf(`{"reference": "fee/7", "description": "fee", "amount": {"currency": "RUB", "amount": %q}}`, amount)
	}
	return scene{
		subject: s.name("bank"), role: "system", status: http.StatusCreated,
		call:      call{path: path(customer), body: body(amount)},
		other:     body(another),
		elsewhere: path(s.name("customer")),
		peer:      s.token(s.name("bank"), "system"), peerStatus: http.StatusCreated,
		locks:   query{"SELECT FROM balance WHERE customer_id = $1 FOR UPDATE", []any{customer}},
		effects: query{"SELECT count(*) FROM ledger_entry WHERE customer_id = $1 AND kind = $2", []any{customer, kind}},
	}
}

func chargeBalanceScene(s *service) scene {
	s.Helper()
	return onBalance(s, "charge", "10.00", "11.00")
}

func creditBalanceScene(s *service) scene {
	s.Helper()
	return onBalance(s, "credit", "10.00", "11.00")
}

func chargingWithoutMoney(s *service) refusal {
	s.Helper()
	c := onBalance(s, "charge", "150.00", "")
	customer := c.effects.args[0].(string)
	return refusal{c, http.StatusPaymentRequired, "insufficient_funds", func() { s.credit(customer, "50.00") }}
}

func creditingTooMuch(s *service) refusal {
	s.Helper()
	c := onBalance(s, "credit", "999999999999999.99", "")
	customer := c.effects.args[0].(string)
	return refusal{c, http.StatusUnprocessableEntity, "validation_failed", func() {
		s.exec("UPDATE balance SET amount = 0 WHERE customer_id = $1", customer)
	}}
}
