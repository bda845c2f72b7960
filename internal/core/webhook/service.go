package webhook

import "example.com/orders/internal/core"

// Service runs the webhook use cases.
type Service struct {
	Store Store
	// EventTypes are all types that the service publishes.
	EventTypes []core.EventType
}
