package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"example.com/orders/internal/dev/fakestripe"
	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/history"
)

// commands are the contract's guarded commands with their weights. A draw that finds no
// order yet creates one.
var commands = []choice[func(*client) operation]{
	{24, (*client).createOrder},
	{8, (*client).reserveInventory},
	{26, (*client).confirmPayment},
	{12, (*client).refundPayment},
	{8, (*client).cancelOrder},
	{10, (*client).creditBalance},
	{8, (*client).chargeBalance},
	{5, (*client).adjustStock},
	{10, (*client).changeKettles},
}

// newKey returns a key that only this client uses. It contains the canary, which no log
// may contain.
func (c *client) newKey() string {
	c.keys++
	return fmt.Sprintf("%s-%d-%d", canary, c.number, c.keys)
}

// createOrder is a customer or seller who orders one or two products from one seller.
func (c *client) createOrder() operation {
	customer, seller := oneOf(c.random, customers), oneOf(c.random, []string{e2e.Shop, e2e.Rival})
	body := map[string]any{"items": c.items(seller)}
	if c.random.IntN(3) == 0 {
		body["reference"] = c.reference()
	}
	op := operation{id: "createOrder", subject: customer, role: "customer"}
	if c.random.IntN(4) == 0 {
		op.subject, op.role = seller, "seller"
		body["customer_id"] = customer
	}
	op.call = e2e.Call{Method: http.MethodPost, Path: "/orders", Key: c.newKey(), Body: asJSON(body)}
	op.referenced = body["reference"] != nil
	body["items"] = []any{map[string]any{"sku": map[string]string{e2e.Shop: "cup", e2e.Rival: "book"}[seller], "quantity": 7}}
	op.other = asJSON(body)
	op.learn = func(r e2e.Reply) {
		var o e2e.Order
		if json.Unmarshal(r.Body, &o) == nil {
			c.world.addOrder(o)
		}
	}
	return op
}

// items draws order items.
func (c *client) items(seller string) []any {
	offered := slices.DeleteFunc(slices.Clone(products), func(p product) bool { return p.seller != seller })
	if p, found := recall(c.world, c.random, &c.world.created); found && p.seller == seller && c.random.IntN(3) == 0 {
		offered[c.random.IntN(len(offered))] = p
	}
	var items []any
	for _, p := range offered {
		if len(items) == 0 || c.random.IntN(2) == 0 {
			items = append(items, map[string]any{"sku": p.sku, "quantity": 1 + c.random.IntN(3)})
		}
	}
	if len(items) == 2 && c.random.IntN(2) == 0 {
		items = items[1:]
	}
	return items
}

// reference draws a new reference or a used one.
func (c *client) reference() string {
	if taken, found := recall(c.world, c.random, &c.world.references); found && c.random.IntN(4) == 0 {
		return taken
	}
	c.keys++
	reference := fmt.Sprintf("intent-%d-%d", c.number, c.keys)
	remember(c.world, &c.world.references, reference)
	return reference
}

// onOrder is a command on an existing order, from a role that may send it.
func (c *client) onOrder(id, path, body string, roles ...string) (operation, knownOrder) {
	pick := c.world.anOrder
	if id == "refundPayment" {
		pick = c.world.aPaidOrder
	}
	o, found := pick(c.random)
	if !found {
		return c.createOrder(), o
	}
	role := oneOf(c.random, roles)
	subject := map[string]string{"customer": o.customer, "seller": o.seller, "admin": e2e.Root, "system": e2e.Bank}[role]
	return operation{id: id, subject: subject, role: role, customer: o.customer, call: e2e.Call{
		Method: http.MethodPost, Path: fmt.Sprintf("/orders/%d/%s", o.id, path), Key: c.newKey(), Body: body,
	}}, o
}

func (c *client) reserveInventory() operation {
	op, _ := c.onOrder("reserveInventory", "reservation", "", "customer", "seller", "system")
	return op
}

// confirmPayment pays from the balance or with a test card.
func (c *client) confirmPayment() operation {
	const fromBalance = `{"method": "balance"}`
	byCard := fmt.Sprintf(`{"method": "card", "payment_method": %q}`, oneOf(c.random, fakestripe.Tokens()))
	body, other := byCard, fromBalance
	if c.random.IntN(3) == 0 {
		body, other = fromBalance, byCard
	}
	op, o := c.onOrder("confirmPayment", "payment/confirm", body, "customer")
	if op.id == "confirmPayment" {
		op.other = other
		op.learn = func(e2e.Reply) { c.world.notePaid(o.id) }
	}
	return op
}

// refundPayment is a partial or full refund.
func (c *client) refundPayment() operation {
	part := fmt.Sprintf(`{"amount": %s}`, roubles(1+c.random.Int64N(2_000)))
	full := `{"reason": "dented", "full": true}`
	body, other := part, full
	if c.random.IntN(3) == 0 {
		body, other = full, part
	}
	op, _ := c.onOrder("refundPayment", "payment/refund", body, "customer", "admin")
	if op.id == "refundPayment" {
		op.other = other
	}
	return op
}

func (c *client) cancelOrder() operation {
	op, _ := c.onOrder("cancelOrder", "cancel", `{"reason": "changed my mind"}`, "customer", "seller", "admin")
	if op.id == "cancelOrder" {
		op.other = `{"reason": "found it cheaper"}`
	}
	return op
}

func (c *client) creditBalance() operation { return c.changeBalance("credit") }

func (c *client) chargeBalance() operation { return c.changeBalance("charge") }

// changeBalance is a bank or the administrator changing a balance.
func (c *client) changeBalance(kind string) operation {
	op := c.changeBalanceOf(oneOf(c.random, slices.Concat(customers, savers)), kind, 1+c.random.Int64N(5_000))
	if c.random.IntN(4) == 0 {
		op.subject, op.role = e2e.Root, "admin"
	}
	if c.random.IntN(4) == 0 {
		reference := fmt.Sprintf(`{"reference": %q, `, c.reference())
		op.referenced = true
		op.call.Body, op.other = reference+op.call.Body[1:], reference+op.other[1:]
	}
	return op
}

func (c *client) adjustStock() operation { return c.adjustStockOf(oneOf(c.random, products)) }

// adjustStockOf is a seller or the administrator counting a product.
func (c *client) adjustStockOf(p product) operation {
	op := operation{id: "adjustStock", subject: p.seller, role: "seller"}
	if c.random.IntN(3) == 0 {
		op.subject, op.role = e2e.Root, "admin"
	}
	change := 1 + c.random.Int64N(5)
	if c.random.IntN(2) == 0 {
		change = -change
	}
	op.call = e2e.Call{
		Method: http.MethodPost, Path: "/products/" + p.sku + "/stock", Key: c.newKey(), Body: fmt.Sprintf(`{"change": %d}`, change),
	}
	op.other = fmt.Sprintf(`{"change": %d}`, 2*change)
	op.change, op.otherChange = change, 2*change
	return op
}

// changeBalanceOf is a bank that credits or charges an amount.
func (c *client) changeBalanceOf(customer, kind string, amount int64) operation {
	change, otherChange := amount, amount+1
	if kind == "charge" {
		change, otherChange = -change, -otherChange
	}
	return operation{
		id: kind + "Balance", subject: oneOf(c.random, banks), role: "system",
		account: history.AccountOf(customer, "RUB"), change: change, otherChange: otherChange,
		call: e2e.Call{
			Method: http.MethodPost, Path: "/customers/" + customer + "/balance/" + kind, Key: c.newKey(),
			Body: fmt.Sprintf(`{"amount": %s}`, roubles(amount)),
		},
		other: fmt.Sprintf(`{"amount": %s}`, roubles(amount+1)),
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // only maps, texts and numbers
	}
	return string(text)
}
