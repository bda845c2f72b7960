package payment

import (
	"time"

	"example.com/orders/internal/core"
)

// Account is one side of a ledger entry. A customer account holds our debt to the
// customer; money comes from and goes to the other accounts.
type Account string

const (
	// WorldAccount is the source of credits and the target of charges.
	WorldAccount Account = "world"
	// ProviderAccount is the source of card payments and the target of card refunds.
	ProviderAccount Account = "provider"
	// UnappliedAccount holds money captured for failed payments until it is refunded.
	UnappliedAccount Account = "unapplied"
	// DisputesAccount holds money that banks have withdrawn for disputes.
	DisputesAccount Account = "disputes"
	// DisputeFeesAccount holds the fees for disputes.
	DisputeFeesAccount Account = "dispute_fees"
)

func customerAccount(id string) Account { return Account("customer/" + id) }

// sellerAccount collects payments for a seller's orders.
func sellerAccount(id string) Account { return Account("seller/" + id) }

// EntryKind is the reason for a ledger entry.
type EntryKind string

// The entry kinds.
const (
	EntryCredit  EntryKind = "credit"
	EntryCharge  EntryKind = "charge"
	EntryPayment EntryKind = "payment"
	EntryRefund  EntryKind = "refund"

	EntryDispute    EntryKind = "dispute"
	EntryDisputeFee EntryKind = "dispute_fee"
)

// LedgerEntry is a row of double entry: Amount moves from the account Debit to the
// account Credit. One row holds both sides, so the sum over all accounts is zero by
// construction. Entries are appended and never changed.
type LedgerEntry struct {
	ID     int64
	Kind   EntryKind
	Debit  Account
	Credit Account
	Amount core.Money
	// CustomerID is the owner of the changed balance, and BalanceAfter the resulting
	// balance. Both are zero for an entry that changes no balance (cards).
	CustomerID   string
	BalanceAfter core.Money
	// Position counts a balance's entries in the order they changed it, zero for an
	// entry that changes no balance.
	Position int64
	// PaymentID and RefundID are the reason for the entry, zero if there is none.
	PaymentID int64
	RefundID  int64
	// Description and Reference come from the caller and may be empty. The reference of
	// disputed funds is the id of the provider's transaction.
	Description string
	Reference   string
	By          core.Operation
	CreatedAt   time.Time
}

// Clone returns a deep copy, nil for nil.
func (e *LedgerEntry) Clone() *LedgerEntry {
	if e == nil {
		return nil
	}
	return new(*e)
}

func (e *LedgerEntry) auditMetadata() core.Metadata {
	return auditMetadata(e.CustomerID).WithAmount(e.Amount).
		WithID("balance_transaction_id", e.ID).With("balance_after", e.BalanceAfter.Decimal())
}
