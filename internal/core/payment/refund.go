package payment

import (
	"strconv"
	"time"

	"example.com/orders/internal/core"
)

// RefundStatus is where a refund stands.
type RefundStatus string

// The statuses of a refund. To the balance it succeeds at once; to a card it is
// pending until the provider has answered.
const (
	RefundPending   RefundStatus = "pending"
	RefundSucceeded RefundStatus = "succeeded"
	RefundFailed    RefundStatus = "failed"
)

// Refund is money of a payment that goes back to the customer. It compensates and
// never undoes: rows of money are not deleted (R-DIST-COMP).
type Refund struct {
	ID        int64
	PaymentID int64
	OrderID   int64
	Amount    core.Money
	Status    RefundStatus
	Reason    string
	// ExternalID is the provider's name of the refund, empty for one to the balance.
	ExternalID string
	// Rest tells that all that was left was asked for, and no amount named.
	Full bool
	// By is the operation that asked for the refund. It has no key when a cancellation
	// refunded: that has a second line of its own.
	By        core.Operation
	CreatedAt time.Time
}

// Key names the refund to the provider: one refund, one transfer, for ever.
func (r *Refund) Key() string { return "refund-" + strconv.FormatInt(r.ID, 10) }

// Event tells what happened to the refund.
func (r *Refund) Event(what string) core.Event {
	return core.Event{
		Type:      "refund." + what,
		Aggregate: "payment/" + strconv.FormatInt(r.PaymentID, 10),
		Data: map[string]any{
			"refund_id":  r.ID,
			"payment_id": r.PaymentID,
			"order_id":   r.OrderID,
			"status":     string(r.Status),
			"amount":     r.Amount.Decimal(),
			"currency":   string(r.Amount.Currency()),
		},
	}
}

// repeats tells whether a refund that exists is the one that cmd asks for.
func (r *Refund) repeats(cmd RefundPayment) error {
	if r.Full != (cmd.Amount == nil) || (cmd.Amount != nil && !r.Amount.Equal(*cmd.Amount)) || r.Reason != cmd.Reason {
		return core.KeyReused()
	}
	return nil
}
