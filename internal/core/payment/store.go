package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
)

// Store opens transactions; see [order.Store] for what its methods promise.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	Read(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is what a transaction offers to the use cases of this package: everything about
// orders, and the money.
type Tx struct {
	order.Tx
	OrderPayments OrderPaymentsStore
	Payments      Payments
	Refunds       Refunds
	Balances      Balances
	Ledger        Ledger
	Intents       Intents
}

// OrderPaymentsStore locks orders together with their money.
type OrderPaymentsStore interface {
	// Lock locks and loads everything that a decision about an order's money needs. It
	// returns [core.ErrNotFound], or [core.ErrNotGranted] without waiting for a lock.
	Lock(ctx context.Context, orderID int64, grant core.Grant) (*OrderPayments, error)
	// LockByPayment does the same for the order of a payment, for jobs and provider
	// events: it covers the orders of everybody.
	LockByPayment(ctx context.Context, paymentID int64) (*OrderPayments, error)
	// LockByRefund does the same for the order of a refund.
	LockByRefund(ctx context.Context, refundID int64) (*OrderPayments, error)
	// LockByPaymentUUID and LockByRefundUUID do the same for the names that the provider
	// knows.
	LockByPaymentUUID(ctx context.Context, uuid string) (*OrderPayments, error)
	LockByRefundUUID(ctx context.Context, uuid string) (*OrderPayments, error)
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

// Payments stores payments.
type Payments interface {
	// Get loads a payment with its refunds, the newest first, and the owners of its order. It
	// returns [core.ErrNotFound] if there is none.
	Get(ctx context.Context, id int64) (*Payment, core.Owners, error)
	// Of returns the payments of an order with their refunds, the newest first.
	Of(ctx context.Context, orderID int64) ([]*Payment, error)
	// Save inserts a payment that is new. Of any other it updates the status, AskedAt and
	// the result of the charge; nothing else about a payment changes.
	Save(ctx context.Context, p *Payment) error
	// OfCharge returns the id of the payment that has a charge of the provider, or 0.
	OfCharge(ctx context.Context, externalID string) (int64, error)
}

// Refunds stores refunds.
type Refunds interface {
	// Get loads a refund and the owners of its order, or returns [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Refund, core.Owners, error)
	// Save inserts a refund that is new. Of any other it updates the status, AskedAt and
	// the id at the provider; nothing else about a refund changes.
	Save(ctx context.Context, r *Refund) error
	// OfExternal returns the id of the refund that has an id at the provider, or 0.
	OfExternal(ctx context.Context, externalID string) (int64, error)
}

// Balances stores customers' balances.
type Balances interface {
	// Lock locks and loads a balance that is about to change. The balance is new when the
	// customer has none in the currency.
	Lock(ctx context.Context, q BalanceQuery) (LockedBalance, error)
	// Of returns a customer's balances, sorted by currency.
	Of(ctx context.Context, customerID string) ([]*Balance, error)
	// Save inserts a balance that is new, and updates any other.
	Save(ctx context.Context, b *Balance) error
}

// BalanceQuery describes a change of a balance that is about to be made.
type BalanceQuery struct {
	CustomerID string
	Currency   core.Currency
	Kind       EntryKind
	// Reference is the caller's own id of the change, empty for none.
	Reference string
	By        core.Operation
}

// LockedBalance is a balance that is about to change, and the ledger entry that the same
// operation made before, if any.
type LockedBalance struct {
	Balance *Balance
	Prior   *LedgerEntry
	// ReferenceTaken reports whether an entry of the customer has the kind and the
	// reference. The entry of the same operation counts, too.
	ReferenceTaken bool
}

// Ledger stores ledger entries. It has no operation that changes or deletes one.
type Ledger interface {
	// Append inserts an entry.
	Append(ctx context.Context, e *LedgerEntry) error
	// List returns the entries that the filter selects, newest first, and one more than the
	// page asks for. The page begins within the period; see [core.Period.Start].
	List(ctx context.Context, f EntryFilter, page core.Page) ([]*LedgerEntry, error)
}
