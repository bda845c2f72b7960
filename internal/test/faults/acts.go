package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/history"
)

// What is planted, and must not be found in any log. Texts contain the canary.
const (
	canary     = "Zq9canary"
	cardNumber = "4242424242424242"
)

// acts are what clients do, and how often each is drawn.
var acts = []choice[func(*client)]{
	{60, (*client).command},
	{10, (*client).read},
	{5, (*client).readBalance},
	{10, (*client).updateOrderStatus},
	{3, (*client).putPrice},
	{3, (*client).putStock},
	{3, (*client).changeProfile},
	{3, (*client).restock},
	{3, (*client).expireReservation},
	{1, (*client).sendCardNumber},
	{1, (*client).takeFromOthers},
}

// ask sends a request without a key, once.
func (c *client) ask(op operation) history.Attempt {
	a := c.send(c.t.Context(), c.anyReplica(), op)
	if op.subject == e2e.Root && op.call.Key == "" {
		c.world.noteAdministrator(strings.ToUpper(op.id[:1])+op.id[1:], a.Outcome)
	}
	return a
}

// noteAdministrator remembers an act that the audit log has to contain.
func (w *world) noteAdministrator(action string, outcome history.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.administrator[action]
	switch outcome {
	case history.OK:
		s.acknowledged++
	case history.Unknown:
		s.unknown++
	case history.Refused:
	}
	w.administrator[action] = s
}

// read reads something.
func (c *client) read() {
	customer := oneOf(c.random, customers)
	get := func(id, subject, role, path string) operation {
		return operation{id: id, subject: subject, role: role, call: e2e.Call{Method: http.MethodGet, Path: path}}
	}
	reads := []operation{
		get("listOrders", customer, "customer", "/orders?limit=5"),
		get("listOrders", e2e.Root, "admin", "/orders?status=paid"),
		get("listBalanceTransactions", customer, "customer", "/customers/"+customer+"/balance/transactions?limit=5"),
		get("getProduct", e2e.Shop, "seller", "/products/tea"),
		get("listProducts", customer, "customer", "/products"),
		get("listAuditLog", e2e.Root, "admin", "/admin/audit-log?limit=3"),
		get("getCustomerProfile", e2e.Root, "admin", "/customers/"+memberOf(c.number)+"/profile"),
	}
	if o, found := c.world.anOrder(c.random); found {
		path := fmt.Sprintf("/orders/%d", o.id)
		reads = append(reads,
			get("getOrderById", o.customer, "customer", path), get("getOrderById", e2e.Root, "admin", path),
			get("listPayments", o.seller, "seller", path+"/payments"))
	}
	c.ask(oneOf(c.random, reads))
}

// readBalance reads a balance that others change. It is a line of the history.
func (c *client) readBalance() {
	customer := oneOf(c.random, slices.Concat(customers, savers))
	c.ask(operation{
		id: history.ReadBalance, subject: customer, role: "customer", account: history.AccountOf(customer, "RUB"),
		call: e2e.Call{Method: http.MethodGet, Path: "/customers/" + customer + "/balance"},
	})
}

// updateOrderStatus takes an order one step on, or several.
func (c *client) updateOrderStatus() {
	o, found := c.world.aPaidOrder(c.random)
	if !found {
		return
	}
	status := c.world.nextStatus(o.id)
	if c.random.IntN(5) == 0 {
		status = "delivered"
	}
	op := operation{id: "updateOrderStatus", subject: o.seller, role: "seller", call: e2e.StatusCall("", o.id, status)}
	if c.random.IntN(4) == 0 {
		op.subject, op.role = e2e.Root, "admin"
	}
	if c.ask(op).Outcome == history.OK {
		c.world.acknowledgeStatus(o.id, status)
	}
}

// putPrice puts a product and leaves its stock alone.
func (c *client) putPrice() {
	p := oneOf(c.random, products)
	c.ask(operation{id: "putProduct", subject: p.seller, role: "seller", call: e2e.Call{
		Method: http.MethodPut, Path: "/products/" + p.sku,
		Body: fmt.Sprintf(`{"name": "%s %d", "price": %s}`, p.sku, c.random.IntN(100), roubles(kopecks(p.price))),
	}})
}

// putStock replaces the stock of a product as it was read. It is the administrator, whose audit log
// says by how much.
func (c *client) putStock() {
	p := oneOf(c.random, products)
	op := operation{
		id: "getProduct", subject: p.seller, role: "seller",
		call: e2e.Call{Method: http.MethodGet, Path: "/products/" + p.sku},
	}
	var tag string
	var seen e2e.Product
	op.learn = func(r e2e.Reply) {
		tag = r.Header.Get("ETag")
		_ = json.Unmarshal(r.Body, &seen) // then the product is refused below
	}
	if c.ask(op).Outcome != history.OK {
		return
	}
	op.id, op.subject, op.role, op.learn, op.call.Method = "putProduct", e2e.Root, "admin", nil, http.MethodPut
	op.call.Body = fmt.Sprintf(`{"name": %q, "price": %s, "on_hand": %d}`, p.sku, roubles(kopecks(p.price)), seen.OnHand+c.random.IntN(9)-3)
	if seen.OnHand < 4 {
		op.call.Body = fmt.Sprintf(`{"name": %q, "price": %s, "on_hand": %d}`, p.sku, roubles(kopecks(p.price)), seen.OnHand+5)
	}
	op.call.Header = http.Header{"If-Match": {tag}}
	for range 2 { // the second can never bring back what was sold meanwhile
		c.ask(op)
	}
}

// changeProfile puts or deletes the profile of a customer whom nobody else changes.
func (c *client) changeProfile() {
	customer := memberOf(c.number)
	c.keys++
	email := fmt.Sprintf("%s.%d.%d@example.com", canary, c.number, c.keys)
	op := operation{id: "updateCustomerProfile", subject: customer, role: "customer", call: e2e.Call{
		Method: http.MethodPut, Path: "/customers/" + customer + "/profile",
		Body: fmt.Sprintf(`{"full_name": "Anna %s", "email": %q, "phone": "+79990000001"}`, canary, email),
	}}
	if c.random.IntN(4) == 0 {
		email = ""
		op.id, op.call.Method, op.call.Body = "deleteCustomerProfile", http.MethodDelete, ""
	}
	c.world.noteProfile(customer, email, c.ask(op).Outcome)
}

// memberOf returns the customer whose profile only this client changes.
func memberOf(client int) string { return fmt.Sprintf("member-%d", client) }

// expireReservation makes a reservation expire. A job releases it.
func (c *client) expireReservation() {
	o, found := c.world.anOrder(c.random)
	if !found {
		return
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	tag, err := c.DB.Exec(ctx, `UPDATE orders SET reserved_until = now() - interval '1 second'
		WHERE id = $1 AND status = 'pending_payment' AND reserved_until > now()`, o.id)
	if err == nil {
		c.Counters.Add("reservations expired", int(tag.RowsAffected()))
	}
}

// sendCardNumber sends a card number in the place of a token, and in a text.
func (c *client) sendCardNumber() {
	op, _ := c.onOrder("confirmPayment", "payment/confirm", fmt.Sprintf(`{"method": "card", "payment_method": %q}`, cardNumber), "customer")
	if op.id != "confirmPayment" {
		return
	}
	a := c.ask(op)
	if a.Status != 0 && a.Status != http.StatusUnprocessableEntity && isDecided(a) && !slices.Contains(c.allowed, verdict(a.Status, a.Code)) {
		c.t.Errorf("a card number gets the answer %d %s", a.Status, a.Code)
	}
}

// takeFromOthers lets a customer cancel the order of another one.
func (c *client) takeFromOthers() {
	op, o := c.onOrder("cancelOrder", "cancel", `{}`, "customer")
	if op.id != "cancelOrder" {
		return
	}
	op.subject = customers[(slices.Index(customers, o.customer)+1)%len(customers)]
	if c.ask(op).Outcome == history.OK {
		c.t.Errorf("%s cancelled the order %d of %s", op.subject, o.id, o.customer)
	}
}

// acknowledgeStatus remembers a status that an order had for certain.
func (w *world) acknowledgeStatus(orderID int, status string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statuses = append(w.statuses, orderStatus{orderID, status})
}

// noteProfile remembers a profile that was sent, "" for a deletion.
func (w *world) noteProfile(customer, email string, outcome history.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.profiles[customer]
	switch outcome {
	case history.OK:
		p.acknowledged = email
	case history.Unknown:
		p.unknown = append(p.unknown, email)
	case history.Refused:
	}
	w.profiles[customer] = p
}
