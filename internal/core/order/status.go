package order

import "slices"

// Status is a step in the life cycle of an order.
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

// Transitions is the life cycle of an order: the statuses that may follow each status.
// Every other change is refused with invalid_order_state.
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

// BeforeShipping reports whether the goods have not been shipped yet.
func (s Status) BeforeShipping() bool { return s != Shipped && s != Delivered }
