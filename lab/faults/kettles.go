package faults

import (
	"encoding/json"
	"fmt"
	"net/http"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/lab/history"
)

// kettle is a product that visitors order and never pay for, so that each change of its
// available stock is a command in the history. It is soon sold out.
var kettle = product{"kettle", e2e.Shop, "12.00", 8}

var visitors = []string{"visitor-0", "visitor-1"}

// kettleOrder is a visitor's order.
type kettleOrder struct {
	id       int
	visitor  string
	quantity int
}

// changeKettles orders, cancels or counts kettles. Each is a change of available stock.
func (c *client) changeKettles() operation {
	op := draw(c.random, []choice[func(*client) operation]{
		{5, (*client).orderKettles}, {3, (*client).cancelKettles}, {2, func(c *client) operation { return c.adjustStockOf(kettle) }},
	})(c)
	op.account = history.StockOf(kettle.sku)
	return op
}

func (c *client) orderKettles() operation {
	quantity, visitor := 1+c.random.Int64N(3), oneOf(c.random, visitors)
	body := func(n int64) string { return fmt.Sprintf(`{"items": [{"sku": %q, "quantity": %d}]}`, kettle.sku, n) }
	return operation{
		id: "createOrder", subject: visitor, role: "customer", change: -quantity, otherChange: -quantity - 1,
		call:  e2e.Call{Method: http.MethodPost, Path: "/orders", Key: c.newKey(), Body: body(quantity)},
		other: body(quantity + 1),
		learn: func(r e2e.Reply) {
			var o struct {
				ID    int
				Items []struct{ Quantity int }
			}
			if json.Unmarshal(r.Body, &o) == nil && len(o.Items) == 1 {
				remember(c.world, &c.world.kettles, kettleOrder{o.ID, visitor, o.Items[0].Quantity})
			}
		},
	}
}

func (c *client) cancelKettles() operation {
	o, found := recall(c.world, c.random, &c.world.kettles)
	if !found {
		return c.orderKettles()
	}
	return operation{
		id: "cancelOrder", subject: o.visitor, role: "customer", change: int64(o.quantity), otherChange: int64(o.quantity),
		call: e2e.Call{
			Method: http.MethodPost, Path: fmt.Sprintf("/orders/%d/cancel", o.id), Key: c.newKey(), Body: `{"reason": "just looking"}`,
		},
		other: `{"reason": "too loud"}`,
	}
}

// readKettles reads the available stock that other clients change.
func (c *client) readKettles() {
	c.ask(operation{
		id: history.ReadStock, subject: kettle.seller, role: "seller", account: history.StockOf(kettle.sku),
		call: e2e.Call{Method: http.MethodGet, Path: "/products/" + kettle.sku},
	})
}
