package payment

import (
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// RefundStatus is the state of a refund.
type RefundStatus string

// The statuses of a refund. A refund to the balance succeeds at once; a refund to a
// card is pending until the provider has answered.
const (
	RefundPending   RefundStatus = "pending"
	RefundSucceeded RefundStatus = "succeeded"
	RefundFailed    RefundStatus = "failed"
)

// Refund is money of a payment that goes back to the customer. It compensates the
// payment with new rows and deletes none (R-DIST-COMP).
type Refund struct {
	ID int64
	// UUID is set by the database when it inserts the refund; see [Refund.Key].
	UUID      string
	PaymentID int64
	OrderID   int64
	Amount    core.Money
	Status    RefundStatus
	Reason    string
	// AskedAt is when the provider was first asked to refund, zero before; see [asked].
	AskedAt time.Time
	// ExternalID is the provider's id of the refund, empty for a refund to the balance.
	ExternalID string
	// Full reports that the request named no amount: everything refundable was refunded.
	Full bool
	// By is the operation that requested the refund. Its key is empty when a cancellation
	// refunded the payment: the cancellation has a second line of defence of its own.
	By        core.Operation
	CreatedAt time.Time
	// New reports that the refund has not been stored: Save inserts it.
	New bool
}

// auditMetadata describes a refund of an order in the audit log.
func (r *Refund) auditMetadata(o *order.Order) core.Metadata {
	return o.Owners().Metadata().WithID("payment_id", r.PaymentID).WithID("refund_id", r.ID).WithAmount(r.Amount)
}

// repeats refuses a command that asks for another refund than the one that the same
// operation made before.
func (r *Refund) repeats(cmd RefundPayment) error {
	full := cmd.Amount == nil
	if r.Full != full || (!full && !r.Amount.Equal(*cmd.Amount)) || r.Reason != cmd.Reason {
		return core.KeyReused()
	}
	return nil
}
