package payment

import (
	"strconv"
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

// Status is where a payment stands.
type Status string

// The statuses. An order has at most one payment that is processing or captured.
const (
	Processing Status = "processing"
	Captured   Status = "captured"
	Failed     Status = "failed"
)

// Payment is money for one order. Its amount never changes; what went back is the
// sum of its refunds.
type Payment struct {
	ID      int64
	OrderID int64
	Method  Method
	Amount  core.Money
	Status  Status
	Refunds []*Refund
	// Card is what only card payments have.
	Card Card
	// By is the operation that asked for the payment.
	By        core.Operation
	CreatedAt time.Time
}

// Card is the part of a payment that the provider knows.
type Card struct {
	// Token stands for the card.
	Token string
	// ExternalID is the provider's name of the charge, empty until it told one.
	ExternalID string
	// Failure is why the provider refused, empty unless it did.
	Failure string
}

// Key names the payment to the provider: one payment, one charge, for ever.
func (p *Payment) Key() string { return "payment-" + strconv.FormatInt(p.ID, 10) }

// Left is what can still be refunded.
func (p *Payment) Refundable() core.Money {
	left, _ := p.Amount.Sub(p.Refunded()) // refunds never exceed the payment
	return left
}

// Refunded is what has been given back, or is on its way.
func (p *Payment) Refunded() core.Money {
	sum := core.Zero(p.Amount.Currency())
	for _, r := range p.Refunds {
		if r.Status != RefundFailed {
			sum, _ = sum.Add(r.Amount) // at most Amount, so it cannot overflow
		}
	}
	return sum
}

// Event tells what happened to the payment.
func (p *Payment) Event(what string) core.Event {
	return core.Event{
		Type:      "payment." + what,
		Aggregate: "payment/" + strconv.FormatInt(p.ID, 10),
		Data: map[string]any{
			"payment_id": p.ID,
			"order_id":   p.OrderID,
			"method":     string(p.Method),
			"status":     string(p.Status),
			"amount":     p.Amount.Decimal(),
			"refunded":   p.Refunded().Decimal(),
			"currency":   string(p.Amount.Currency()),
		},
	}
}
