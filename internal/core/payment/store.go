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

// Tx is what a transaction offers to the use cases of this package: everything about
// orders, and the money.
type Tx struct {
	order.Tx
	OrderPayments OrderPaymentsStore
	Payments      Payments
	Balances      Balances
	Intents       Intents
}

// OrderPaymentsStore locks orders together with their money.
type OrderPaymentsStore interface {
	// Lock locks and loads everything that a decision about an order's money needs, or
	// returns [core.ErrNotFound].
	Lock(ctx context.Context, orderID int64) (*OrderPayments, error)
	// LockByPayment does the same for the order of a payment.
	LockByPayment(ctx context.Context, paymentID int64) (*OrderPayments, error)
	// LockByRefund does the same for the order of a refund.
	LockByRefund(ctx context.Context, refundID int64) (*OrderPayments, error)
}

// Intents stores what the card provider must be asked after the commit, one job for
// each. A transaction never calls the provider itself: its rollback could not undo the
// call.
type Intents interface {
	// Settle adds the job that charges the card of a payment.
	Settle(ctx context.Context, paymentID int64) error
	// SettleRefund adds the job that refunds to a card.
	SettleRefund(ctx context.Context, refundID int64) error
}

// Payments stores payments and their refunds.
type Payments interface {
	// Of returns the payments of an order with their refunds, the oldest first.
	Of(ctx context.Context, orderID int64) ([]*Payment, error)
	// Save writes a new payment.
	Save(ctx context.Context, p *Payment) error
	// Update writes the status of a payment and the result of its charge.
	Update(ctx context.Context, p *Payment) error
	// SaveRefund writes a new refund.
	SaveRefund(ctx context.Context, r *Refund) error
	// UpdateRefund writes the status of a refund.
	UpdateRefund(ctx context.Context, r *Refund) error
}

// Balances stores customers' balances and the ledger.
type Balances interface {
	// Lock locks and loads a balance, and the entry that the same operation made before,
	// if any. The balance is new when the customer has none in the currency.
	Lock(ctx context.Context, customerID string, currency core.Currency, by core.Operation) (*Balance, *LedgerEntry, error)
	// Of returns a customer's balances, sorted by currency.
	Of(ctx context.Context, customerID string) ([]*Balance, error)
	// Entries returns the ledger entries of a customer's balances, newest first, and one
	// more than the page asks for.
	Entries(ctx context.Context, customerID string, page core.Page) ([]*LedgerEntry, error)
	// Save writes an entry and the balance that it changed, nil for none.
	Save(ctx context.Context, b *Balance, e *LedgerEntry) error
}
