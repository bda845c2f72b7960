// Package order is the part of the business that sells goods: products and their
// stock, orders and their life, and the holds that keep stock for an order until
// it is paid.
package order

import (
	"slices"
	"time"

	"example.com/orders/internal/core"
)

// Order is what a customer buys from one seller, in one currency.
type Order struct {
	ID         int64
	CustomerID string
	SellerID   string
	Status     Status
	Lines      []Line
	Total      core.Money
	// ReservedUntil is when the hold on the stock lapses; zero when nothing is held.
	ReservedUntil time.Time
	// CreatedBy is the operation that made the order.
	CreatedBy core.Operation
	// Cancellation says who cancelled the order; nil while nobody did.
	Cancellation *Cancellation
	// Version counts the changes, from 1.
	Version   int
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Line is one product of an order, at the price it had when the order was made.
type Line struct {
	SKU       string
	Quantity  int
	UnitPrice core.Money
}

// Cancellation is the operation that cancelled an order, and why.
type Cancellation struct {
	By     core.Operation
	Reason string
}

// moveTo takes the order to another status, where the table of transitions lets it.
func (o *Order) moveTo(next Status, now time.Time) error {
	if !o.Status.leadsTo(next) {
		return core.Refuse(core.Conflict, core.CodeInvalidOrderState,
			"an order that is "+string(o.Status)+" cannot become "+string(next))
	}
	o.Status = next
	o.touch(now)
	return nil
}

// touch notes that the order changed.
func (o *Order) touch(now time.Time) {
	o.Version++
	o.UpdatedAt = now
}

// Held tells whether the order's hold on its stock is alive at now. A hold that
// has lapsed counts as gone even before the job that frees its stock has run.
func (o *Order) HasReservation(now time.Time) bool { return now.Before(o.ReservedUntil) }

// hasReservedStock tells whether the stock still counts units reserved for this order,
// lapsed or not.
func (o *Order) hasReservedStock() bool { return !o.ReservedUntil.IsZero() }

// Reserve renews the hold until now + hold, and takes the stock again when it had
// been freed. It refuses orders that do not wait for payment (invalid_order_state)
// and stock that is not there (out_of_stock).
func (o *Order) Reserve(stock Stock, now time.Time, hold time.Duration) error {
	if o.Status != PendingPayment {
		return core.Refuse(core.Conflict, core.CodeInvalidOrderState,
			"stock is reserved only for an order that waits for payment; this one is "+string(o.Status))
	}
	if !o.hasReservedStock() {
		if err := stock.reserve(o.Lines); err != nil {
			return err
		}
	}
	o.ReservedUntil = now.Add(hold)
	o.touch(now)
	return nil
}

// ExpireReservation frees the stock of a hold whose time is over. It reports false, and
// changes nothing, when the hold is alive or gone, or payment is under way.
func (o *Order) ExpireReservation(stock Stock, now time.Time) (bool, error) {
	if o.Status != PendingPayment || !o.hasReservedStock() || o.HasReservation(now) {
		return false, nil
	}
	o.ReservedUntil = time.Time{}
	o.touch(now)
	return true, stock.release(o.Lines)
}

// Payable tells why the order cannot be paid now, or nil.
func (o *Order) Payable(now time.Time) error {
	if o.Status != PendingPayment {
		return core.Refuse(core.Conflict, core.CodeInvalidOrderState,
			"an order that is "+string(o.Status)+" cannot be paid")
	}
	if !o.HasReservation(now) {
		return core.Refuse(core.Conflict, core.CodeReservationExpired,
			"the stock is no longer held for this order; reserve it again")
	}
	return nil
}

// AwaitPayment lets the order wait for a provider's answer. Its hold does not lapse
// meanwhile.
func (o *Order) AwaitPayment(now time.Time) error {
	if err := o.Payable(now); err != nil {
		return err
	}
	return o.moveTo(PaymentProcessing, now)
}

// PaymentFailed lets the order wait for another payment. A hold whose time has come
// meanwhile lapses as any other.
func (o *Order) PaymentFailed(now time.Time) error { return o.moveTo(PendingPayment, now) }

// Pay marks the order paid and turns what was reserved into sold.
func (o *Order) Pay(stock Stock, now time.Time) error {
	if err := o.moveTo(Paid, now); err != nil {
		return err
	}
	o.ReservedUntil = time.Time{}
	return stock.sell(o.Lines)
}

// Advance moves the order along its way to the customer: fulfilling, shipped, delivered.
// Money and stock have their own ways to the other statuses.
func (o *Order) Advance(next Status, now time.Time) error {
	if next != Fulfilling && next != Shipped && next != Delivered {
		return core.InvalidField("/status", "must be fulfilling, shipped or delivered")
	}
	return o.moveTo(next, now)
}

// Cancel ends the order and gives its stock back: what was reserved is freed, what
// was sold returns to the shelf.
func (o *Order) Cancel(c Cancellation, stock Stock, now time.Time) error {
	sold := o.Status == Paid || o.Status == Fulfilling
	if err := o.moveTo(Cancelled, now); err != nil {
		return err
	}
	o.Cancellation = &c
	held := o.hasReservedStock()
	o.ReservedUntil = time.Time{}
	switch {
	case sold:
		stock.restock(o.Lines)
	case held:
		return stock.release(o.Lines)
	}
	return nil
}

// sameItems tells whether the order was made of exactly these items, in this order.
func (o *Order) sameItems(items []Item) bool {
	return slices.EqualFunc(o.Lines, items, func(l Line, i Item) bool {
		return l.SKU == i.SKU && l.Quantity == i.Quantity
	})
}

// Event tells what happened to the order.
func (o *Order) Event(what string) core.Event {
	return core.Event{
		Type:      "order." + what,
		Aggregate: Resource(o.ID),
		Data: map[string]any{
			"order_id":    o.ID,
			"customer_id": o.CustomerID,
			"seller_id":   o.SellerID,
			"status":      string(o.Status),
			"amount":      o.Total.Decimal(),
			"currency":    string(o.Total.Currency()),
			"version":     o.Version,
		},
	}
}

// Cancellable tells whether the order can still be cancelled.
func (o *Order) Cancellable() bool { return o.Status.leadsTo(Cancelled) }

// Repeats tells whether a cancellation that happened is the one asked for.
func (c *Cancellation) Repeats(asked Cancellation) error {
	if c.Reason != asked.Reason {
		return core.KeyReused()
	}
	return nil
}
