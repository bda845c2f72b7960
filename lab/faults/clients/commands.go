package clients

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
var commands = []choice[func(*Client) Operation]{
	{24, (*Client).CreateOrder},
	{8, (*Client).reserveInventory},
	{26, (*Client).confirmPayment},
	{12, (*Client).refundPayment},
	{8, (*Client).cancelOrder},
	{10, (*Client).creditBalance},
	{8, (*Client).chargeBalance},
	{5, (*Client).adjustStock},
	{10, (*Client).changeKettles},
}

// newKey returns a key that only this client uses. It contains the canary, which no log
// may contain.
func (c *Client) newKey() string {
	c.keys++
	return fmt.Sprintf("%s-%d-%d", Canary, c.number, c.keys)
}

// CreateOrder is a customer or seller who orders one or two products from one seller.
func (c *Client) CreateOrder() Operation {
	customer, seller := OneOf(c.Random, customers), OneOf(c.Random, []string{e2e.Shop, e2e.Rival})
	body := map[string]any{"items": c.items(seller)}
	if c.Random.IntN(3) == 0 {
		body["reference"] = c.reference()
	}
	op := Operation{ID: "createOrder", Subject: customer, role: "customer"}
	if c.Random.IntN(4) == 0 {
		op.Subject, op.role = seller, "seller"
		body["customer_id"] = customer
	}
	op.call = e2e.Call{Method: http.MethodPost, Path: "/orders", Key: c.newKey(), Body: asJSON(body)}
	op.referenced = body["reference"] != nil
	body["items"] = []any{map[string]any{"sku": map[string]string{e2e.Shop: "cup", e2e.Rival: "book"}[seller], "quantity": 7}}
	op.other = asJSON(body)
	op.learn = func(r e2e.Reply) {
		var o e2e.Order
		if json.Unmarshal(r.Body, &o) == nil {
			c.Memory.addOrder(o)
		}
	}
	return op
}

// items draws order items.
func (c *Client) items(seller string) []any {
	offered := slices.DeleteFunc(slices.Clone(products), func(p Product) bool { return p.seller != seller })
	if p, found := recall(c.Memory, c.Random, &c.Memory.Created); found && p.seller == seller && c.Random.IntN(3) == 0 {
		offered[c.Random.IntN(len(offered))] = p
	}
	var items []any
	for _, p := range offered {
		if len(items) == 0 || c.Random.IntN(2) == 0 {
			items = append(items, map[string]any{"sku": p.SKU, "quantity": 1 + c.Random.IntN(3)})
		}
	}
	if len(items) == 2 && c.Random.IntN(2) == 0 {
		items = items[1:]
	}
	return items
}

// reference draws a new reference or a used one.
func (c *Client) reference() string {
	if taken, found := recall(c.Memory, c.Random, &c.Memory.references); found && c.Random.IntN(4) == 0 {
		return taken
	}
	c.keys++
	reference := fmt.Sprintf("intent-%d-%d", c.number, c.keys)
	remember(c.Memory, &c.Memory.references, reference)
	return reference
}

// onOrder is a command on an existing order, from a role that may send it.
func (c *Client) onOrder(id, path, body string, roles ...string) (Operation, knownOrder) {
	pick := c.Memory.anOrder
	if id == "refundPayment" {
		pick = c.Memory.aPaidOrder
	}
	o, found := pick(c.Random)
	if !found {
		return c.CreateOrder(), o
	}
	role := OneOf(c.Random, roles)
	subject := map[string]string{"customer": o.customer, "seller": o.seller, "admin": e2e.Root, "system": e2e.Bank}[role]
	return Operation{ID: id, Subject: subject, role: role, customer: o.customer, call: e2e.Call{
		Method: http.MethodPost, Path: fmt.Sprintf("/orders/%d/%s", o.ID, path), Key: c.newKey(), Body: body,
	}}, o
}

func (c *Client) reserveInventory() Operation {
	op, _ := c.onOrder("reserveInventory", "reservation", "", "customer", "seller", "system")
	return op
}

// confirmPayment pays from the balance or with a test card.
func (c *Client) confirmPayment() Operation {
	const fromBalance = `{"method": "balance"}`
	byCard := fmt.Sprintf(`{"method": "card", "payment_method": %q}`, OneOf(c.Random, fakestripe.Tokens()))
	body, other := byCard, fromBalance
	if c.Random.IntN(3) == 0 {
		body, other = fromBalance, byCard
	}
	op, o := c.onOrder("confirmPayment", "payment/confirm", body, "customer")
	if op.ID == "confirmPayment" {
		op.other = other
		op.learn = func(e2e.Reply) { c.Memory.notePaid(o.ID) }
	}
	return op
}

// refundPayment is a partial or full refund.
func (c *Client) refundPayment() Operation {
	part := fmt.Sprintf(`{"amount": %s}`, roubles(1+c.Random.Int64N(2_000)))
	full := `{"reason": "dented", "full": true}`
	body, other := part, full
	if c.Random.IntN(3) == 0 {
		body, other = full, part
	}
	op, _ := c.onOrder("refundPayment", "payment/refund", body, "customer", "admin")
	if op.ID == "refundPayment" {
		op.other = other
	}
	return op
}

func (c *Client) cancelOrder() Operation {
	op, _ := c.onOrder("cancelOrder", "cancel", `{"reason": "changed my mind"}`, "customer", "seller", "admin")
	if op.ID == "cancelOrder" {
		op.other = `{"reason": "found it cheaper"}`
	}
	return op
}

func (c *Client) creditBalance() Operation { return c.changeBalance("credit") }

func (c *Client) chargeBalance() Operation { return c.changeBalance("charge") }

// changeBalance is a bank or the administrator changing a balance.
func (c *Client) changeBalance(kind string) Operation {
	op := c.ChangeBalanceOf(OneOf(c.Random, slices.Concat(customers, Savers)), kind, 1+c.Random.Int64N(5_000))
	if c.Random.IntN(4) == 0 {
		op.Subject, op.role = e2e.Root, "admin"
	}
	if c.Random.IntN(4) == 0 {
		reference := fmt.Sprintf(`{"reference": %q, `, c.reference())
		op.referenced = true
		op.call.Body, op.other = reference+op.call.Body[1:], reference+op.other[1:]
	}
	return op
}

func (c *Client) adjustStock() Operation { return c.adjustStockOf(OneOf(c.Random, products)) }

// adjustStockOf is a seller or the administrator counting a product.
func (c *Client) adjustStockOf(p Product) Operation {
	op := Operation{ID: "adjustStock", Subject: p.seller, role: "seller"}
	if c.Random.IntN(3) == 0 {
		op.Subject, op.role = e2e.Root, "admin"
	}
	change := 1 + c.Random.Int64N(5)
	if c.Random.IntN(2) == 0 {
		change = -change
	}
	op.call = e2e.Call{
		Method: http.MethodPost, Path: "/products/" + p.SKU + "/stock", Key: c.newKey(), Body: fmt.Sprintf(`{"change": %d}`, change),
	}
	op.other = fmt.Sprintf(`{"change": %d}`, 2*change)
	op.change, op.otherChange = change, 2*change
	return op
}

// ChangeBalanceOf is a bank that credits or charges an amount.
func (c *Client) ChangeBalanceOf(customer, kind string, amount int64) Operation {
	change, otherChange := amount, amount+1
	if kind == "charge" {
		change, otherChange = -change, -otherChange
	}
	return Operation{
		ID: kind + "Balance", Subject: OneOf(c.Random, banks), role: "system",
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

// Kettle is a product that visitors order and never pay for, so that each change of its
// available stock is a command in the history. It is soon sold out.
var Kettle = Product{"kettle", e2e.Shop, "12.00", 8}

var visitors = []string{"visitor-0", "visitor-1"}

// kettleOrder is a visitor's order.
type kettleOrder struct {
	id       int
	visitor  string
	quantity int
}

// changeKettles orders, cancels or counts kettles. Each is a change of available stock.
func (c *Client) changeKettles() Operation {
	op := draw(c.Random, []choice[func(*Client) Operation]{
		{5, (*Client).orderKettles}, {3, (*Client).cancelKettles}, {2, func(c *Client) Operation { return c.adjustStockOf(Kettle) }},
	})(c)
	op.account = history.StockOf(Kettle.SKU)
	return op
}

func (c *Client) orderKettles() Operation {
	quantity, visitor := 1+c.Random.Int64N(3), OneOf(c.Random, visitors)
	body := func(n int64) string { return fmt.Sprintf(`{"items": [{"sku": %q, "quantity": %d}]}`, Kettle.SKU, n) }
	return Operation{
		ID: "createOrder", Subject: visitor, role: "customer", change: -quantity, otherChange: -quantity - 1,
		call:  e2e.Call{Method: http.MethodPost, Path: "/orders", Key: c.newKey(), Body: body(quantity)},
		other: body(quantity + 1),
		learn: func(r e2e.Reply) {
			var o struct {
				ID    int
				Items []struct{ Quantity int }
			}
			if json.Unmarshal(r.Body, &o) == nil && len(o.Items) == 1 {
				remember(c.Memory, &c.Memory.kettles, kettleOrder{o.ID, visitor, o.Items[0].Quantity})
			}
		},
	}
}

func (c *Client) cancelKettles() Operation {
	o, found := recall(c.Memory, c.Random, &c.Memory.kettles)
	if !found {
		return c.orderKettles()
	}
	return Operation{
		ID: "cancelOrder", Subject: o.visitor, role: "customer", change: int64(o.quantity), otherChange: int64(o.quantity),
		call: e2e.Call{
			Method: http.MethodPost, Path: fmt.Sprintf("/orders/%d/cancel", o.id), Key: c.newKey(), Body: `{"reason": "just looking"}`,
		},
		other: `{"reason": "too loud"}`,
	}
}

// readKettles reads the available stock that other clients change.
func (c *Client) readKettles() {
	c.ask(Operation{
		ID: history.ReadStock, Subject: Kettle.seller, role: "seller", account: history.StockOf(Kettle.SKU),
		call: e2e.Call{Method: http.MethodGet, Path: "/products/" + Kettle.SKU},
	})
}
