package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// Store opens transactions; see [order.Store] for what InTx promises.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is what one transaction offers to the use cases of this package: all that
// those about orders have, and the money.
type Tx struct {
	order.Tx
	OrderPayments OrderPaymentsStore
	Payments      Payments
	Balances      Balances
	Intents       Intents
}

// OrderPaymentsStore loads orders together with their money.
type OrderPaymentsStore interface {
	// Lock loads and locks everything that a decision about an order's money needs, or
	// answers [core.ErrNotFound].
	Lock(ctx context.Context, orderID int64) (*OrderPayments, error)
	// LockByPayment and LockByRefund do so for the order of a payment or a refund.
	LockByPayment(ctx context.Context, paymentID int64) (*OrderPayments, error)
	LockByRefund(ctx context.Context, refundID int64) (*OrderPayments, error)
}

// Intents keep what is to be asked of the provider once the transaction has committed:
// one job for each. The world outside gets intents, not calls.
type Intents interface {
	Settle(ctx context.Context, paymentID int64) error
	SettleRefund(ctx context.Context, refundID int64) error
}

// Payments keeps payments and their refunds.
type Payments interface {
	// Of gives the payments of an order with their refunds, the oldest first.
	Of(ctx context.Context, orderID int64) ([]*Payment, error)
	// Save writes a new payment.
	Save(ctx context.Context, p *Payment) error
	// Update writes what became of a payment: its status and the provider's answer.
	Update(ctx context.Context, p *Payment) error
	// SaveRefund writes a new refund, UpdateRefund what became of one.
	SaveRefund(ctx context.Context, r *Refund) error
	UpdateRefund(ctx context.Context, r *Refund) error
}

// Balances keeps customers' balances and the books.
type Balances interface {
	// Lock loads a balance for a change, a new one where the customer has none in that
	// currency, and the entry that the same operation has made before, if it has.
	Lock(ctx context.Context, customerID string, currency core.Currency, by core.Operation) (*Balance, *LedgerEntry, error)
	// Of gives a customer's balances, sorted by currency.
	Of(ctx context.Context, customerID string) ([]*Balance, error)
	// Entries gives one row more than the page asks for of what moved a customer's
	// balance, newest first.
	Entries(ctx context.Context, customerID string, page core.Page) ([]*LedgerEntry, error)
	// Save writes a entry and the balance that it changed, nil for none.
	Save(ctx context.Context, b *Balance, m *LedgerEntry) error
}
