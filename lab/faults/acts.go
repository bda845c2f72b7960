package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/history"
)

// Planted secrets that must appear in no log. Texts contain the canary.
const (
	canary     = "Zq9canary"
	cardNumber = "4242424242424242"
)

// acts are client actions with their weights.
var acts = []choice[func(*client)]{
	{60, (*client).command},
	{10, (*client).read},
	{5, (*client).readBalance},
	{5, (*client).readKettles},
	{10, (*client).updateOrderStatus},
	{3, (*client).putPrice},
	{3, (*client).putStock},
	{3, (*client).changeProfile},
	{3, (*client).restock},
	{3, (*client).expireReservation},
	{1, (*client).sendCardNumber},
	{6, (*client).takeFromOthers},
	{3, (*client).putNewProduct},
}

// ask sends a request without a key, once.
func (c *client) ask(op operation) history.Attempt {
	a := c.send(c.t.Context(), c.anyReplica(), op)
	if op.subject == e2e.Root && op.call.Key == "" {
		c.world.noteAdministrator(strings.ToUpper(op.id[:1])+op.id[1:], a.Outcome)
	}
	return a
}

// noteAdministrator remembers an action that the audit log has to contain.
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

// read sends a random read.
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
		get("searchPayments", e2e.Root, "admin", "/payments?status=processing"),
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

// readBalance reads a balance that other clients change. The history records it.
func (c *client) readBalance() {
	customer := oneOf(c.random, slices.Concat(customers, savers))
	c.ask(operation{
		id: history.ReadBalance, subject: customer, role: "customer", account: history.AccountOf(customer, "RUB"),
		call: e2e.Call{Method: http.MethodGet, Path: "/customers/" + customer + "/balance"},
	})
}

// updateOrderStatus advances an order by one status or more.
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
		remember(c.world, &c.world.statuses, orderStatus{o.id, status})
	}
}

// putPrice puts a product without stock.
func (c *client) putPrice() {
	p := oneOf(c.random, products)
	c.ask(operation{id: "putProduct", subject: p.seller, role: "seller", call: e2e.Call{
		Method: http.MethodPut, Path: "/products/" + p.sku,
		Body: fmt.Sprintf(`{"name": "%s %d", "price": %s}`, p.sku, c.random.IntN(100), roubles(kopecks(p.price))),
	}})
}

// putStock replaces the stock that it has just read. The caller is the administrator,
// so that the audit log contains the difference.
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
		_ = json.Unmarshal(r.Body, &seen) // the checks below then refuse the product
	}
	if c.ask(op).Outcome != history.OK {
		return
	}
	op.id, op.subject, op.role, op.learn, op.call.Method = "putProduct", e2e.Root, "admin", nil, http.MethodPut
	change := c.random.IntN(9) - 3
	if seen.OnHand < 4 {
		change = 5
	}
	op.call.Body = fmt.Sprintf(`{"name": %q, "price": %s, "on_hand": %d}`, p.sku, roubles(kopecks(p.price)), seen.OnHand+change)
	op.call.Header = http.Header{"If-Match": {tag}}
	for range 2 { // the second one can never undo sales in between
		c.ask(op)
	}
}

// changeProfile puts or deletes a customer profile that no other client changes.
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

// sendCardNumber sends a card number as token and inside a text.
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

// takeFromOthers lets a customer send a command on another customer's order, at the same
// moment and to the same replica as somebody who may.
func (c *client) takeFromOthers() {
	op := oneOf(c.random, []func(*client) operation{
		(*client).reserveInventory, (*client).confirmPayment, (*client).refundPayment, (*client).cancelOrder,
	})(c)
	if op.customer == "" {
		return // there is no order yet
	}
	stranger := op
	stranger.subject = customers[(slices.Index(customers, op.customer)+1)%len(customers)]
	stranger.role, stranger.stranger, stranger.learn, stranger.call.Key = "customer", true, nil, c.newKey()
	c.atOnce([]Endpoint{c.anyReplica()}, stranger, op)
	c.finish(op)
}

// putNewProduct puts a product that other clients may order before it exists.
func (c *client) putNewProduct() {
	c.keys++
	p := product{fmt.Sprintf("new-%d-%d", c.number, c.keys), e2e.Shop, "10.00", 3 + c.random.IntN(8)}
	remember(c.world, &c.world.created, p)
	op := operation{id: "putProduct", subject: p.seller, role: "seller", call: e2e.Call{
		Method: http.MethodPut, Path: "/products/" + p.sku, Header: http.Header{"If-None-Match": {"*"}},
		Body: fmt.Sprintf(`{"name": %q, "price": %s, "on_hand": %d}`, p.sku, roubles(kopecks(p.price)), p.onHand),
	}}
	if c.ask(op).Outcome == history.OK {
		c.Counters.Add("products created under load", 1)
	}
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
