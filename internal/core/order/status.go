package order

import "slices"

// Status is a step in an order's life cycle.
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

// transitions is the life cycle of an order: the statuses that may follow each status.
// Every other change is refused with invalid_order_state.
var transitions = map[Status][]Status{
	PendingPayment:    {PaymentProcessing, Paid, Cancelled},
	PaymentProcessing: {Paid, PendingPayment},
	Paid:              {Fulfilling, Cancelled},
	Fulfilling:        {Shipped, Cancelled},
	Shipped:           {Delivered},
	Delivered:         {},
	Cancelled:         {},
}

// Statuses returns all statuses.
func Statuses() []Status {
	return []Status{PendingPayment, PaymentProcessing, Paid, Fulfilling, Shipped, Delivered, Cancelled}
}

// LeadsTo reports whether an order with this status may get the next one.
func (s Status) LeadsTo(next Status) bool { return slices.Contains(transitions[s], next) }

// Unpaid reports whether an order with this status counts among its creator's unpaid ones.
func (s Status) Unpaid() bool { return s == PendingPayment || s == PaymentProcessing }

// BeforeShipping reports whether the goods have not been shipped yet.
func (s Status) BeforeShipping() bool { return s != Shipped && s != Delivered }
