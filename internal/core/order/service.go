package order

import "time"

// Service runs the use cases about orders and products.
type Service struct {
	Store Store
	// ReservationTTL is how long stock stays reserved for an order that waits for
	// payment.
	ReservationTTL time.Duration
	// MaxExtensions bounds how often the reservation of one order is extended, and
	// MaxUnpaidOrders how many unpaid orders of one customer an actor creates. They keep
	// those who never pay from holding the stock. 0 is no bound.
	MaxExtensions   int
	MaxUnpaidOrders int
}
