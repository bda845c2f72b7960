package order

import "time"

// Service runs the order and product use cases.
type Service struct {
	Store Store
	// ReservationTTL is how long stock stays reserved for an order that waits for
	// payment.
	ReservationTTL time.Duration
	// MaxExtensions bounds the extensions per reservation, and MaxUnpaidOrders the
	// unpaid orders per customer and creator. They keep actors who never pay from
	// holding stock. 0 means no limit.
	MaxExtensions   int
	MaxUnpaidOrders int
}
