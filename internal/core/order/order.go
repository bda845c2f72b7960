// Package order sells goods: products and stock, orders and their life cycle, and the
// reservations that keep stock for an order until it is paid.
package order

import (
	"slices"
	"strconv"
	"time"

	"example.com/orders/internal/core"
)

// Order is a purchase by one customer from one seller, in one currency.
type Order struct {
	ID         int64
	CustomerID string
	SellerID   string
	Status     Status
	Lines      []Line
	Total      core.Money
	// ReservedUntil is when the stock reservation expires, zero if there is none.
	ReservedUntil time.Time
	// Reference is an optional id from the creator. It is unique per creator and
	// customer, even among cancelled orders: a delayed duplicate request must not
	// create the order again.
	Reference string
	// CreatedBy is the operation that created the order.
	CreatedBy core.Operation
	// Cancellation is nil unless the order is cancelled.
	Cancellation *Cancellation
	// Disputed reports that a bank disputes the payment, or has taken the money back. Only
	// Orders.Lock loads it.
	Disputed bool
	// Version counts the changes, from 1.
	Version   int
	CreatedAt time.Time
	UpdatedAt time.Time
	// New reports that the order is not stored yet: Save inserts it.
	New bool
}

// Clone returns a deep copy, nil for nil.
func (o *Order) Clone() *Order {
	if o == nil {
		return nil
	}
	c := *o
	c.Lines = slices.Clone(o.Lines)
	if o.Cancellation != nil {
		c.Cancellation = new(*o.Cancellation)
	}
	return &c
}

// Line is one product in an order, at the price when the order was created.
type Line struct {
	SKU       string
	Quantity  int
	UnitPrice core.Money
}

// Cancellation is the operation that cancelled an order, and the reason.
type Cancellation struct {
	By     core.Operation
	Reason string
}

// Resource names an order in events and in the audit log.
func Resource(id int64) string { return "order/" + strconv.FormatInt(id, 10) }

// Owners returns the customer and the seller.
func (o *Order) Owners() core.Owners {
	return core.Owners{Customer: o.CustomerID, Seller: o.SellerID}
}

// moveTo changes the status if the life cycle allows it.
func (o *Order) moveTo(next Status, now time.Time) error {
	if !o.Status.LeadsTo(next) {
		return core.Refuse(core.CodeInvalidOrderState,
			"an order that is "+string(o.Status)+" cannot become "+string(next))
	}
	o.Status = next
	o.touch(now)
	return nil
}

func (o *Order) touch(now time.Time) {
	o.Version++
	o.UpdatedAt = now
}

// HasReservation reports whether the reservation is in force at now. An expired one
// does not count, even before the job has released the stock.
func (o *Order) HasReservation(now time.Time) bool { return now.Before(o.ReservedUntil) }

// hasReservedStock reports whether the stock still counts units reserved for this
// order, even if the reservation has expired.
func (o *Order) hasReservedStock() bool { return !o.ReservedUntil.IsZero() }

// Reserve extends the reservation until now + ttl. If the stock has been released,
// Reserve takes it back. It refuses orders that do not wait for payment
// (invalid_order_state) and insufficient stock (out_of_stock).
func (o *Order) Reserve(stock Stock, now time.Time, ttl time.Duration) error {
	if o.Status != PendingPayment {
		return core.Refuse(core.CodeInvalidOrderState,
			"stock is reserved only for orders that wait for payment; this order is "+string(o.Status))
	}
	if !o.hasReservedStock() {
		if err := stock.reserve(o.Lines); err != nil {
			return err
		}
	}
	o.ReservedUntil = now.Add(ttl)
	o.touch(now)
	return nil
}

// ExpireReservation releases the stock of an expired reservation and reports whether it
// did. A reservation in force stays, and so does one under a payment that is
// processing.
func (o *Order) ExpireReservation(stock Stock, now time.Time) (bool, error) {
	if o.Status != PendingPayment || !o.hasReservedStock() || o.HasReservation(now) {
		return false, nil
	}
	o.ReservedUntil = time.Time{}
	o.touch(now)
	return true, stock.release(o.Lines)
}

// Payable refuses payment unless the order waits for it and the reservation is in
// force.
func (o *Order) Payable(now time.Time) error {
	if o.Status != PendingPayment {
		return core.Refuse(core.CodeInvalidOrderState,
			"an order that is "+string(o.Status)+" cannot be paid")
	}
	if !o.HasReservation(now) {
		return core.Refuse(core.CodeReservationExpired,
			"the stock is no longer reserved for this order; reserve it again")
	}
	return nil
}

// AwaitPayment marks the order as waiting for a card payment result. Meanwhile the
// reservation does not expire.
func (o *Order) AwaitPayment(now time.Time) error {
	if err := o.Payable(now); err != nil {
		return err
	}
	return o.moveTo(PaymentProcessing, now)
}

// PaymentFailed makes the order payable again; the reservation can expire again.
func (o *Order) PaymentFailed(now time.Time) error { return o.moveTo(PendingPayment, now) }

// Pay marks the order paid and the reserved stock sold.
func (o *Order) Pay(stock Stock, now time.Time) error {
	if err := o.moveTo(Paid, now); err != nil {
		return err
	}
	o.ReservedUntil = time.Time{}
	return stock.sell(o.Lines)
}

// Advance moves the order along the delivery: fulfilling, shipped, delivered. All other
// statuses follow from payments, reservations and cancellations.
func (o *Order) Advance(next Status, now time.Time) error {
	if next != Fulfilling && next != Shipped && next != Delivered {
		return core.InvalidField("/status", "must be fulfilling, shipped or delivered")
	}
	return o.moveTo(next, now)
}

// Cancel cancels the order and returns its stock: it releases reserved units and
// restocks sold ones.
func (o *Order) Cancel(c Cancellation, stock Stock, now time.Time) error {
	sold := o.Status == Paid || o.Status == Fulfilling
	if err := o.moveTo(Cancelled, now); err != nil {
		return err
	}
	o.Cancellation = &c
	reserved := o.hasReservedStock()
	o.ReservedUntil = time.Time{}
	switch {
	case sold:
		stock.restock(o.Lines)
	case reserved:
		return stock.release(o.Lines)
	}
	return nil
}

// Cancellable reports whether the order can still be cancelled.
func (o *Order) Cancellable() bool { return o.Status.LeadsTo(Cancelled) }

// Repeats refuses a retry with a reason other than that of the first cancellation.
func (c *Cancellation) Repeats(requested Cancellation) error {
	if c.Reason != requested.Reason {
		return core.KeyReused()
	}
	return nil
}

// sameItems reports whether the order has exactly these items in this order.
func (o *Order) sameItems(items []Item) bool {
	return slices.EqualFunc(o.Lines, items, func(l Line, i Item) bool {
		return l.SKU == i.SKU && l.Quantity == i.Quantity
	})
}

// Status is a step in the order life cycle.
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

// Unpaid reports whether an order with this status counts among the creator's unpaid
// orders.
func (s Status) Unpaid() bool { return s == PendingPayment || s == PaymentProcessing }

// BeforeShipping reports whether the goods have not been shipped yet.
func (s Status) BeforeShipping() bool { return s != Shipped && s != Delivered }
