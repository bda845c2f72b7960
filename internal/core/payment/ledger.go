package payment

import (
	"time"

	"example.com/orders/internal/core"
)

// Account is one side of a entry. Customers' accounts are what we owe them;
// money comes from and goes to the other accounts.
type Account string

// WorldAccount is where credited money comes from and charged money goes to.
const WorldAccount Account = "world"

// Provider is where money of cards comes from and goes back to.
const ProviderAccount Account = "provider"

func customerAccount(id string) Account { return Account("customer/" + id) }

// sellerAccount collects what customers paid for a seller's orders.
func sellerAccount(id string) Account { return Account("seller/" + id) }

// EntryKind says why money moved.
type EntryKind string

// The kinds of entry.
const (
	EntryCredit  EntryKind = "credit"
	EntryCharge  EntryKind = "charge"
	EntryPayment EntryKind = "payment"
	EntryRefund  EntryKind = "refund"
)

// LedgerEntry is one entry of the books: Amount leaves the account Debit and arrives
// at the account Credit, so the books balance by construction. Entries are
// written once and never changed.
type LedgerEntry struct {
	ID     int64
	Kind   EntryKind
	Debit  Account
	Credit Account
	Amount core.Money
	// CustomerID is whose balance moved, and BalanceAfter what it was then; both are
	// zero for money that moved past the balances (cards).
	CustomerID   string
	BalanceAfter core.Money
	// PaymentID and RefundID are what the money moved for, zero for none.
	PaymentID int64
	RefundID  int64
	// Description and Reference are the caller's words, empty for none.
	Description string
	Reference   string
	By          core.Operation
	CreatedAt   time.Time
}

// deposit adds to the balance what comes from another account.
func (b *Balance) deposit(kind EntryKind, from Account, amount core.Money) (*LedgerEntry, error) {
	if err := b.add(amount); err != nil {
		return nil, err
	}
	return b.entry(kind, from, b.Account(), amount), nil
}

// withdraw takes from the balance what goes to another account. Refusal:
// insufficient_funds.
func (b *Balance) withdraw(kind EntryKind, to Account, amount core.Money) (*LedgerEntry, error) {
	if err := b.take(amount); err != nil {
		return nil, err
	}
	return b.entry(kind, b.Account(), to, amount), nil
}

func (b *Balance) entry(kind EntryKind, debit, credit Account, amount core.Money) *LedgerEntry {
	return &LedgerEntry{
		Kind: kind, Debit: debit, Credit: credit, Amount: amount,
		CustomerID: b.CustomerID, BalanceAfter: b.Amount,
	}
}
