package payment

import (
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

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
// rows and deletes none (R-DIST-COMP).
type Refund struct {
	ID int64
	// UUID is assigned by the database on insert; see [Refund.Key].
	UUID      string
	PaymentID int64
	OrderID   int64
	Amount    core.Money
	Status    RefundStatus
	Reason    string
	// AskedAt is when the provider was first asked to refund, or zero; see [asked].
	AskedAt time.Time
	// ExternalID is the provider's refund id, empty for a refund to the balance.
	ExternalID string
	// Full reports a request without an amount, which refunds the whole refundable
	// amount.
	Full bool
	// By is the operation that requested the refund. Its key is empty after a
	// cancellation, which has a separate second line of defence.
	By        core.Operation
	CreatedAt time.Time
	// New reports that the refund is not stored yet: Save inserts it.
	New bool
}

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
	full := cmd.Amount == nil
	if r.Full != full || (!full && !r.Amount.Equal(*cmd.Amount)) || r.Reason != cmd.Reason {
		return core.KeyReused()
	}
	return nil
}
