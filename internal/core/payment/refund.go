package payment

import (
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
	// By is the operation that asked for the refund.
	By        core.Operation
	CreatedAt time.Time
}
