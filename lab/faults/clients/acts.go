package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/faults/world"
	"example.com/orders/lab/history"
)

// Planted secrets that must appear in no log. Texts contain the canary.
const (
	Canary     = "Zq9canary"
	CardNumber = "4242424242424242"
)

// acts are client actions with their weights.
var acts = []choice[func(*Client)]{
	{60, (*Client).command},
	{10, (*Client).read},
	{5, (*Client).readBalance},
	{5, (*Client).readKettles},
	{10, (*Client).updateOrderStatus},
	{3, (*Client).putPrice},
	{3, (*Client).putStock},
	{3, (*Client).changeProfile},
	{3, (*Client).Restock},
	{3, (*Client).expireReservation},
	{1, (*Client).sendCardNumber},
	{6, (*Client).takeFromOthers},
	{3, (*Client).putNewProduct},
}

// ask sends a request without a key, once.
func (c *Client) ask(op Operation) history.Attempt {
	a := c.Send(c.T.Context(), c.anyReplica(), op)
	if op.Subject == e2e.Root && op.call.Key == "" {
		c.Memory.noteAdministrator(strings.ToUpper(op.ID[:1])+op.ID[1:], a.Outcome)
	}
	return a
}

// read sends a random read.
func (c *Client) read() {
	customer := OneOf(c.Random, customers)
	get := func(id, subject, role, path string) Operation {
		return Operation{ID: id, Subject: subject, role: role, call: e2e.Call{Method: http.MethodGet, Path: path}}
	}
	reads := []Operation{
		get("listOrders", customer, "customer", "/orders?limit=5"),
		get("listOrders", e2e.Root, "admin", "/orders?status=paid"),
		get("listBalanceTransactions", customer, "customer", "/customers/"+customer+"/balance/transactions?limit=5"),
		get("getProduct", e2e.Shop, "seller", "/products/tea"),
		get("listProducts", customer, "customer", "/products"),
		get("searchPayments", e2e.Root, "admin", "/payments?status=processing"),
		get("listAuditLog", e2e.Root, "admin", "/admin/audit-log?limit=3"),
		get("getCustomerProfile", e2e.Root, "admin", "/customers/"+memberOf(c.number)+"/profile"),
	}
	if o, found := c.Memory.anOrder(c.Random); found {
		path := fmt.Sprintf("/orders/%d", o.ID)
		reads = append(reads,
			get("getOrderById", o.customer, "customer", path), get("getOrderById", e2e.Root, "admin", path),
			get("listPayments", o.seller, "seller", path+"/payments"))
	}
	c.ask(OneOf(c.Random, reads))
}

// readBalance reads a balance that other clients change. The history records it.
func (c *Client) readBalance() {
	customer := OneOf(c.Random, slices.Concat(customers, Savers))
	c.ask(Operation{
		ID: history.ReadBalance, Subject: customer, role: "customer", account: history.AccountOf(customer, "RUB"),
		call: e2e.Call{Method: http.MethodGet, Path: "/customers/" + customer + "/balance"},
	})
}

// updateOrderStatus advances an order by one status or more.
func (c *Client) updateOrderStatus() {
	o, found := c.Memory.aPaidOrder(c.Random)
	if !found {
		return
	}
	status := c.Memory.nextStatus(o.ID)
	if c.Random.IntN(5) == 0 {
		status = "delivered"
	}
	op := Operation{ID: "updateOrderStatus", Subject: o.seller, role: "seller", call: e2e.StatusCall("", o.ID, status)}
	if c.Random.IntN(4) == 0 {
		op.Subject, op.role = e2e.Root, "admin"
	}
	if c.ask(op).Outcome == history.OK {
		remember(c.Memory, &c.Memory.Statuses, OrderStatus{o.ID, status})
	}
}

// putPrice puts a product without stock.
func (c *Client) putPrice() {
	p := OneOf(c.Random, products)
	c.ask(Operation{ID: "putProduct", Subject: p.seller, role: "seller", call: e2e.Call{
		Method: http.MethodPut, Path: "/products/" + p.SKU,
		Body: fmt.Sprintf(`{"name": "%s %d", "price": %s}`, p.SKU, c.Random.IntN(100), roubles(kopecks(p.price))),
	}})
}

// putStock replaces the stock that it has just read. The caller is the administrator,
// so that the audit log contains the difference.
func (c *Client) putStock() {
	p := OneOf(c.Random, products)
	op := Operation{
		ID: "getProduct", Subject: p.seller, role: "seller",
		call: e2e.Call{Method: http.MethodGet, Path: "/products/" + p.SKU},
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
	op.ID, op.Subject, op.role, op.learn, op.call.Method = "putProduct", e2e.Root, "admin", nil, http.MethodPut
	change := c.Random.IntN(9) - 3
	if seen.OnHand < 4 {
		change = 5
	}
	op.call.Body = fmt.Sprintf(`{"name": %q, "price": %s, "on_hand": %d}`, p.SKU, roubles(kopecks(p.price)), seen.OnHand+change)
	op.call.Header = http.Header{"If-Match": {tag}}
	for range 2 { // the second one can never undo sales in between
		c.ask(op)
	}
}

// changeProfile puts or deletes a customer profile that no other client changes.
func (c *Client) changeProfile() {
	customer := memberOf(c.number)
	c.keys++
	email := fmt.Sprintf("%s.%d.%d@example.com", Canary, c.number, c.keys)
	op := Operation{ID: "updateCustomerProfile", Subject: customer, role: "customer", call: e2e.Call{
		Method: http.MethodPut, Path: "/customers/" + customer + "/profile",
		Body: fmt.Sprintf(`{"full_name": "Anna %s", "email": %q, "phone": "+79990000001"}`, Canary, email),
	}}
	if c.Random.IntN(4) == 0 {
		email = ""
		op.ID, op.call.Method, op.call.Body = "deleteCustomerProfile", http.MethodDelete, ""
	}
	c.Memory.noteProfile(customer, email, c.ask(op).Outcome)
}

// memberOf returns the customer whose profile only this client changes.
func memberOf(client int) string { return fmt.Sprintf("member-%d", client) }

// expireReservation makes a reservation expire. A job releases it.
func (c *Client) expireReservation() {
	o, found := c.Memory.anOrder(c.Random)
	if !found {
		return
	}
	ctx, cancel := context.WithTimeout(c.T.Context(), world.Patience)
	defer cancel()
	tag, err := c.DB.Exec(ctx, `UPDATE orders SET reserved_until = now() - interval '1 second'
		WHERE id = $1 AND status = 'pending_payment' AND reserved_until > now()`, o.ID)
	if err == nil {
		c.Counters.Add("reservations expired", int(tag.RowsAffected()))
	}
}

// sendCardNumber sends a card number as token and inside a text.
func (c *Client) sendCardNumber() {
	op, _ := c.onOrder("confirmPayment", "payment/confirm", fmt.Sprintf(`{"method": "card", "payment_method": %q}`, CardNumber), "customer")
	if op.ID != "confirmPayment" {
		return
	}
	a := c.ask(op)
	if a.Status != 0 && a.Status != http.StatusUnprocessableEntity && isDecided(a) && !slices.Contains(c.allowed, verdict(a.Status, a.Code)) {
		c.T.Errorf("a card number gets the answer %d %s", a.Status, a.Code)
	}
}

// takeFromOthers lets a customer send a command on another customer's order, at the same
// moment and to the same replica as somebody who may.
func (c *Client) takeFromOthers() {
	op := OneOf(c.Random, []func(*Client) Operation{
		(*Client).reserveInventory, (*Client).confirmPayment, (*Client).refundPayment, (*Client).cancelOrder,
	})(c)
	if op.customer == "" {
		return // there is no order yet
	}
	stranger := op
	stranger.Subject = customers[(slices.Index(customers, op.customer)+1)%len(customers)]
	stranger.role, stranger.stranger, stranger.learn, stranger.call.Key = "customer", true, nil, c.newKey()
	c.atOnce([]world.Endpoint{c.anyReplica()}, stranger, op)
	c.Finish(op)
}

// putNewProduct puts a product that other clients may order before it exists.
func (c *Client) putNewProduct() {
	c.keys++
	p := Product{fmt.Sprintf("new-%d-%d", c.number, c.keys), e2e.Shop, "10.00", 3 + c.Random.IntN(8)}
	remember(c.Memory, &c.Memory.Created, p)
	op := Operation{ID: "putProduct", Subject: p.seller, role: "seller", call: e2e.Call{
		Method: http.MethodPut, Path: "/products/" + p.SKU, Header: http.Header{"If-None-Match": {"*"}},
		Body: fmt.Sprintf(`{"name": %q, "price": %s, "on_hand": %d}`, p.SKU, roubles(kopecks(p.price)), p.OnHand),
	}}
	if c.ask(op).Outcome == history.OK {
		c.Counters.Add("products created under load", 1)
	}
}
