package payment

import (
	"time"

	"example.com/orders/internal/core"
)

// Account is one side of a ledger entry. A customer's account holds what we owe the
// customer; money comes from and goes to the other accounts.
type Account string

const (
	// WorldAccount is where credits come from and charges go to.
	WorldAccount Account = "world"
	// ProviderAccount is where card payments come from and refunds to cards go to.
	ProviderAccount Account = "provider"
	// UnappliedAccount holds what was captured for payments that have failed, until it is
	// refunded.
	UnappliedAccount Account = "unapplied"
)

func customerAccount(id string) Account { return Account("customer/" + id) }

// sellerAccount is the account of what customers paid for a seller's orders.
func sellerAccount(id string) Account { return Account("seller/" + id) }

// EntryKind is the reason of a ledger entry.
type EntryKind string

// The kinds of entry.
const (
	EntryCredit  EntryKind = "credit"
	EntryCharge  EntryKind = "charge"
	EntryPayment EntryKind = "payment"
	EntryRefund  EntryKind = "refund"
)

// LedgerEntry is one row of double entry: Amount moves from the account Debit to the
// account Credit. One row holds both sides, so the sum over all accounts is zero by
// construction. Entries are appended and never changed.
type LedgerEntry struct {
	ID     int64
	Kind   EntryKind
	Debit  Account
	Credit Account
	Amount core.Money
	// CustomerID is the customer whose balance changed, and BalanceAfter the balance
	// after the change. Both are zero for an entry that changes no balance (cards).
	CustomerID   string
	BalanceAfter core.Money
	// Position counts the entries of a balance, in the order in which they changed it. It
	// is zero for an entry that changes no balance.
	Position int64
	// PaymentID and RefundID are what the money moved for, zero for none.
	PaymentID int64
	RefundID  int64
	// Description and Reference come from the caller, empty for none.
	Description string
	Reference   string
	By          core.Operation
	CreatedAt   time.Time
}

// auditMetadata describes an entry that changed a balance in the audit log.
func (e *LedgerEntry) auditMetadata() core.Metadata {
	return auditMetadata(e.CustomerID).WithAmount(e.Amount).
		WithID("balance_transaction_id", e.ID).With("balance_after", e.BalanceAfter.Decimal())
}
