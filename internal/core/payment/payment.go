// Package payment moves money: customers' balances, payments for orders, refunds, and
// the double-entry ledger that records all of them.
package payment

import (
	"time"

	"example.com/orders/internal/core"
)

// Method is how an order is paid.
type Method string

// The methods.
const (
	FromBalance Method = "balance"
	ByCard      Method = "card"
)

// Status is the state of a payment.
type Status string

// The statuses. An order has at most one payment that is processing or captured.
const (
	Processing Status = "processing"
	Captured   Status = "captured"
	Failed     Status = "failed"
)

// Payment is the money for one order. Its amount never changes; refunds are recorded
// beside it.
type Payment struct {
	ID int64
	// UUID is set by the database when it inserts the payment; see [Payment.Key].
	UUID    string
	OrderID int64
	Method  Method
	Amount  core.Money
	Status  Status
	Refunds []*Refund
	// Card is set for card payments only.
	Card Card
	// By is the operation that requested the payment.
	By        core.Operation
	CreatedAt time.Time
	// New reports that the payment has not been stored: Save inserts it.
	New bool
}

// Card is the part of a payment that the card provider knows.
type Card struct {
	// Token stands for the card.
	Token string
	// AskedAt is when the provider was first asked to charge, zero before; see [asked].
	AskedAt time.Time
	// ExternalID is the provider's id of the charge, empty until the provider assigns one.
	ExternalID string
	// Failure is the provider's reason for refusing the charge, empty unless it did.
	Failure string
}

// Refundable returns the amount that can still be refunded.
func (p *Payment) Refundable() core.Money {
	amount, _ := p.Amount.Sub(p.Refunded()) // refunds never exceed the payment
	return amount
}

// timeOfRefund returns the time of the next refund, which is after those of the others.
func (p *Payment) timeOfRefund(now time.Time) time.Time {
	for _, r := range p.Refunds {
		now = core.After(r.CreatedAt, now)
	}
	return now
}

// Refunded returns the sum of the refunds that succeeded or are pending.
func (p *Payment) Refunded() core.Money {
	sum := core.Zero(p.Amount.Currency())
	for _, r := range p.Refunds {
		if r.Status != RefundFailed {
			sum, _ = sum.Add(r.Amount) // at most Amount, so it cannot overflow
		}
	}
	return sum
}
