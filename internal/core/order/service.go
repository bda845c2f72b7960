package order

import "time"

// Service runs the use cases about orders and products.
type Service struct {
	Store Store
	// ReservationTTL is how long stock stays reserved for an order that waits for
	// payment.
	ReservationTTL time.Duration
}
