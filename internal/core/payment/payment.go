// Package payment moves money: customer balances, order payments, refunds, and the
// double-entry ledger that records all of them.
package payment

import (
	"slices"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment/cards"
)

// Method is how an order is paid.
type Method string

// The methods.
const (
	FromBalance Method = "balance"
	ByCard      Method = "card"
)

// Status is a payment's state.
type Status string

// The statuses. An order has at most one payment that is processing or captured.
const (
	Processing Status = "processing"
	Captured   Status = "captured"
	Failed     Status = "failed"
)

// Payment is the money for one order. The amount never changes; refunds are recorded
// separately.
type Payment struct {
	ID int64
	// UUID is assigned by the database on insert; see [Payment.Key].
	UUID    string
	OrderID int64
	Method  Method
	Amount  core.Money
	Status  Status
	Refunds []*Refund
	// Disputes are those of the charge.
	Disputes cards.Disputes
	// Card is set only for card payments.
	Card Card
	// By is the operation that requested the payment.
	By        core.Operation
	CreatedAt time.Time
	// New reports that the payment is not stored yet: Save inserts it.
	New bool
}

// Key returns the idempotency key for charging the payment. It is the same in every
// attempt, so the provider charges a payment at most once.
func (p *Payment) Key() string { return cards.PaymentKey(p.UUID) }

// Clone returns a deep copy, nil for nil.
func (p *Payment) Clone() *Payment {
	if p == nil {
		return nil
	}
	c := *p
	c.Refunds = slices.Clone(p.Refunds)
	for i, r := range c.Refunds {
		c.Refunds[i] = r.Clone()
	}
	c.Disputes = slices.Clone(p.Disputes)
	for i, d := range c.Disputes {
		c.Disputes[i] = new(*d)
	}
	return &c
}

// Card is the provider's part in a card payment.
type Card struct {
	// Token stands for the card.
	Token string
	// AskedAt is when the provider was first asked to charge, or zero; see [asked].
	AskedAt time.Time
	// ExternalID is the charge id, empty until the provider assigns one.
	ExternalID string
	// Failure is the reason why the provider refused the charge, or "".
	Failure string
}

// Refundable returns the amount that can still be refunded. The bank has already returned
// the amount of a lost dispute.
func (p *Payment) Refundable() core.Money {
	amount := rest(p.Amount, p.Refunded())
	for _, d := range p.Disputes {
		if d.Status == cards.DisputeLost {
			amount = rest(amount, d.Amount)
		}
	}
	return amount
}

// rest returns a − b, or zero if b is more or in another currency. For a moment, refunds exceed a payment: those
// that wait for the provider, and those that people made there.
func rest(a, b core.Money) core.Money {
	if left, err := a.Sub(b); err == nil {
		return left
	}
	return core.Zero(a.Currency())
}

// returned returns the sum of the refunds that the provider has made, or is making for
// people in its dashboard.
func (p *Payment) returned() core.Money {
	return p.sum(func(r *Refund) bool {
		return r.Status == RefundSucceeded || r.MadeAtProvider && r.Status == RefundPending
	})
}

// timeOfRefund returns a time after all other refunds.
func (p *Payment) timeOfRefund(now time.Time) time.Time {
	for _, r := range p.Refunds {
		now = core.After(r.CreatedAt, now)
	}
	return now
}

// Refunded returns the sum of the successful and pending refunds.
func (p *Payment) Refunded() core.Money {
	return p.sum(func(r *Refund) bool { return r.Status != RefundFailed })
}

func (p *Payment) sum(counts func(*Refund) bool) core.Money {
	sum := core.Zero(p.Amount.Currency())
	for _, r := range p.Refunds {
		if counts(r) {
			sum, _ = sum.Add(r.Amount) // near Amount, so it cannot overflow
		}
	}
	return sum
}

// RefundStatus is a refund's state.
type RefundStatus string

// The refund statuses. A refund to the balance succeeds at once; a card refund is
// pending until the provider has answered.
const (
	RefundPending   RefundStatus = "pending"
	RefundSucceeded RefundStatus = "succeeded"
	RefundFailed    RefundStatus = "failed"
)

// Refund returns payment money to the customer. It compensates the payment with new
// rows (R-DIST-COMP).
type Refund struct {
	ID int64
	// UUID is assigned by the database on insert; see [Refund.Key].
	UUID      string
	PaymentID int64
	OrderID   int64
	Amount    core.Money
	Status    RefundStatus
	Reason    string
	// Reference is an optional id from the caller.
	Reference string
	// AskedAt is when the provider was first asked to refund, or zero; see [asked].
	AskedAt time.Time
	// ExternalID is the provider's refund id, empty for a refund to the balance.
	ExternalID string
	// Failure is the reason why the provider refused the refund, or "".
	Failure string
	// Full reports a request for the whole refundable amount.
	Full bool
	// MadeAtProvider reports that the refund was made at the provider, by a person and not
	// by a request to this service.
	MadeAtProvider bool
	// By is the operation that requested the refund. The key is empty after a
	// cancellation, which has a separate second line of defence.
	By        core.Operation
	CreatedAt time.Time
	// New reports that the refund is not stored yet: Save inserts it.
	New bool
}

// Key returns the idempotency key for the refund. It is the same in every attempt, so
// the provider refunds at most once.
func (r *Refund) Key() string { return cards.RefundKey(r.UUID) }

// Clone returns a deep copy, nil for nil.
func (r *Refund) Clone() *Refund {
	if r == nil {
		return nil
	}
	return new(*r)
}

func (r *Refund) auditMetadata(o *order.Order) core.Metadata {
	return o.Owners().Metadata().WithID("payment_id", r.PaymentID).WithID("refund_id", r.ID).WithAmount(r.Amount)
}

// repeats refuses a retry that asks for a different refund than the first request did.
func (r *Refund) repeats(cmd RefundPayment) error {
	sameAmount := r.Full == cmd.Full && (cmd.Full || r.Amount.Equal(*cmd.Amount))
	if !sameAmount || r.Reason != cmd.Reason || r.Reference != cmd.Reference {
		return core.KeyReused()
	}
	return nil
}
