package order

import "slices"

// Status is where an order stands in its life.
type Status string

// The statuses.
const (
	PendingPayment    Status = "pending_payment"
	PaymentProcessing Status = "payment_processing"
	Paid              Status = "paid"
	Fulfilling        Status = "fulfilling"
	Shipped           Status = "shipped"
	Delivered         Status = "delivered"
	Cancelled         Status = "cancelled"
)

// Transitions is the life of an order: from each status, the ones it may go to.
// Anything else is refused with invalid_order_state.
var Transitions = map[Status][]Status{
	PendingPayment:    {PaymentProcessing, Paid, Cancelled},
	PaymentProcessing: {Paid, PendingPayment},
	Paid:              {Fulfilling, Cancelled},
	Fulfilling:        {Shipped, Cancelled},
	Shipped:           {Delivered},
	Delivered:         {},
	Cancelled:         {},
}

func (s Status) leadsTo(next Status) bool { return slices.Contains(Transitions[s], next) }

// BeforeShipping tells whether the goods have not left yet.
func (s Status) BeforeShipping() bool { return s != Shipped && s != Delivered }
