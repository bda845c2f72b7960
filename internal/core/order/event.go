package order

import "example.com/orders/internal/core"

// The event types for orders and products.
const (
	EventCreated            core.EventType = "order.created"
	EventReserved           core.EventType = "order.reserved"
	EventReservationExpired core.EventType = "order.reservation_expired"
	EventPaymentProcessing  core.EventType = "order.payment_processing"
	EventPaymentFailed      core.EventType = "order.payment_failed"
	EventPaid               core.EventType = "order.paid"
	EventFulfilling         core.EventType = "order.fulfilling"
	EventShipped            core.EventType = "order.shipped"
	EventDelivered          core.EventType = "order.delivered"
	EventCancelled          core.EventType = "order.cancelled"

	EventStockAdjusted core.EventType = "product.stock_adjusted"
)

// EventTypes lists all event types in this package.
var EventTypes = []core.EventType{
	EventCreated, EventReserved, EventReservationExpired, EventPaymentProcessing, EventPaymentFailed,
	EventPaid, EventFulfilling, EventShipped, EventDelivered, EventCancelled,
	EventStockAdjusted,
}

// deliveryEvents maps the statuses that Advance sets to their events.
var deliveryEvents = map[Status]core.EventType{
	Fulfilling: EventFulfilling,
	Shipped:    EventShipped,
	Delivered:  EventDelivered,
}

// Event returns an event about the order.
func (o *Order) Event(what core.EventType) core.Event {
	return core.Event{
		Type:      what,
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

// Event returns an event about a stock adjustment of the product.
func (p *Product) Event(what core.EventType, a *StockAdjustment) core.Event {
	return core.Event{
		Type:      what,
		Aggregate: p.resource(),
		Data: map[string]any{
			"sku":                 p.SKU,
			"seller_id":           p.SellerID,
			"stock_adjustment_id": a.ID,
			"change":              a.Change,
			"on_hand":             a.OnHand,
		},
	}
}
