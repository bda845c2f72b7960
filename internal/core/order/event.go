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

// EventData is the data of events about an order.
type EventData struct {
	OrderID    int64
	CustomerID string
	SellerID   string
	Status     Status
	Total      core.Money
	Version    int
}

// Event returns an event about the order.
func (o *Order) Event(eventType core.EventType) core.Event {
	return core.Event{Type: eventType, Aggregate: Resource(o.ID), Data: EventData{
		OrderID: o.ID, CustomerID: o.CustomerID, SellerID: o.SellerID,
		Status: o.Status, Total: o.Total, Version: o.Version,
	}}
}

// StockEventData is the data of events about stock adjustments.
type StockEventData struct {
	SKU          string
	SellerID     string
	AdjustmentID int64
	Change       int64
	OnHand       int64
}

// Event returns an event about a stock adjustment of the product.
func (p *Product) Event(eventType core.EventType, a *StockAdjustment) core.Event {
	return core.Event{Type: eventType, Aggregate: p.resource(), Data: StockEventData{
		SKU: p.SKU, SellerID: p.SellerID, AdjustmentID: a.ID, Change: a.Change, OnHand: a.OnHand,
	}}
}
