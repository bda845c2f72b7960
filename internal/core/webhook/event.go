package webhook

import "example.com/orders/internal/core"

// The event types. EventTest never enters the outbox.
const (
	EventDisabled core.EventType = "webhook_endpoint.disabled"
	EventTest     core.EventType = "webhook_endpoint.test"
)

// EventTypes lists all event types in this package that the outbox publishes.
var EventTypes = []core.EventType{EventDisabled}

// EventData describes the endpoint in an event. The URL is absent, because it may
// contain a secret.
type EventData struct {
	EndpointID int64
	SellerID   string
	Reason     Reason
}

// Event returns an event about the endpoint.
func (e *Endpoint) Event(eventType core.EventType) core.Event {
	return core.Event{Type: eventType, Aggregate: Resource(e.ID), Data: EventData{
		EndpointID: e.ID, SellerID: e.SellerID, Reason: e.DisabledReason,
	}}
}
