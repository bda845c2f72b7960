package order

import "example.com/orders/internal/core"

// Event returns the event that says what happened to the order.
func (o *Order) Event(what string) core.Event {
	return core.Event{
		Type:      "order." + what,
		Aggregate: Resource(o.ID),
		Data: map[string]any{
			"order_id":    o.ID,
			"customer_id": o.CustomerID,
			"seller_id":   o.SellerID,
			"status":      string(o.Status),
			"amount":      o.Total.Decimal(),
			"currency":    string(o.Total.Currency()),
			"version":     o.Version,
		},
	}
}
