package payment

import (
	"context"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment/cards"
)

// Service runs the payment use cases.
type Service struct {
	Store Store
	// Gateway is nil where cards are not accepted.
	Gateway cards.Gateway
}

// Store opens transactions; see [order.Store] for the contract.
type Store interface {
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
	Read(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error
}

// Tx is a struct of stores bound to one transaction: those for orders, and the money.
type Tx struct {
	order.Tx
	OrderPayments OrderPaymentsStore
	Payments      Payments
	Refunds       Refunds
	Disputes      Disputes
	Balances      Balances
	Ledger        Ledger
	Intents       Intents
}

// OrderPaymentsStore locks orders together with their money.
type OrderPaymentsStore interface {
	// Lock locks and loads all data for a decision about an order's money. It returns
	// [core.ErrNotFound], or [core.ErrNotGranted] before any wait for a lock.
	Lock(ctx context.Context, orderID int64, grant core.Grant) (*OrderPayments, error)
	// LockByPayment locks the order of a payment, for jobs and provider events: it
	// covers all owners.
	LockByPayment(ctx context.Context, paymentID int64) (*OrderPayments, error)
	// LockByRefund is LockByPayment for a refund.
	LockByRefund(ctx context.Context, refundID int64) (*OrderPayments, error)
	// LockByPaymentUUID and LockByRefundUUID find the row by the UUID in a provider
	// key.
	LockByPaymentUUID(ctx context.Context, uuid string) (*OrderPayments, error)
	LockByRefundUUID(ctx context.Context, uuid string) (*OrderPayments, error)
}

// Intents stores requests to the card provider, one job each, that run after the
// commit. A transaction never calls the provider itself, because a rollback could not
// undo the call.
type Intents interface {
	// Settle adds the job that charges a payment's card.
	Settle(ctx context.Context, paymentID int64) error
	// SettleRefund adds the job that refunds to a card.
	SettleRefund(ctx context.Context, refundID int64) error
}

// Payments stores payments.
type Payments interface {
	// Get loads a payment with its refunds, newest first, and the order owners, or
	// returns [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Payment, core.Owners, error)
	// Of returns an order's payments with their refunds, newest first.
	Of(ctx context.Context, orderID int64) ([]*Payment, error)
	// Search returns payments with their refunds, newest first, one more than the page
	// limit. The page begins within the period; see [core.Period.Start].
	Search(ctx context.Context, search Search, page core.Page) ([]*Payment, error)
	// Save inserts a new payment. For an existing one it updates the status, AskedAt
	// and the charge result; no other field ever changes.
	Save(ctx context.Context, p *Payment) error
	// OfCharge returns the id of the payment with a provider charge, or 0.
	OfCharge(ctx context.Context, externalID string) (int64, error)
}

// Refunds stores refunds.
type Refunds interface {
	// Get loads a refund and the order owners, or returns [core.ErrNotFound].
	Get(ctx context.Context, id int64) (*Refund, core.Owners, error)
	// Save inserts a new refund. For an existing one it updates the status, AskedAt and
	// the external id; no other field ever changes.
	Save(ctx context.Context, r *Refund) error
	// OfExternal returns the id of the refund with a provider id, or 0.
	OfExternal(ctx context.Context, externalID string) (int64, error)
}

// Disputes stores the disputes of payments.
type Disputes interface {
	// Save inserts a new dispute or updates an existing one.
	Save(ctx context.Context, p *Payment, d *cards.Dispute) error
}

// Balances stores customers' balances.
type Balances interface {
	// Lock locks and loads a balance that is about to change. The balance is new if it
	// is the first one of the customer in the currency.
	Lock(ctx context.Context, q BalanceQuery) (LockedBalance, error)
	// Of returns a customer's balances, sorted by currency.
	Of(ctx context.Context, customerID string) ([]*Balance, error)
	// Save inserts a new balance or updates an existing one.
	Save(ctx context.Context, b *Balance) error
}

// BalanceQuery describes a balance change about to be made.
type BalanceQuery struct {
	CustomerID string
	Currency   core.Currency
	Kind       EntryKind
	// Reference is the optional id of the change.
	Reference string
	By        core.Operation
}

// LockedBalance is a balance about to change, and the ledger entry already made by the
// same operation, if any.
type LockedBalance struct {
	Balance *Balance
	Prior   *LedgerEntry
	// ReferenceTaken reports whether the customer has an entry with this kind and
	// reference, including one by the same operation.
	ReferenceTaken bool
}

// Ledger stores ledger entries. It has no operation that changes or deletes one.
type Ledger interface {
	// Append inserts an entry.
	Append(ctx context.Context, e *LedgerEntry) error
	// HasReference reports whether there is an entry about a transaction of the provider.
	HasReference(ctx context.Context, kind EntryKind, reference string) (bool, error)
	// List returns entries, newest first, one more than the page limit. The page begins
	// within the period; see [core.Period.Start].
	List(ctx context.Context, f EntryFilter, page core.Page) ([]*LedgerEntry, error)
}
