package payment

import (
	"fmt"
	"time"

	"example.com/orders/internal/core"
)

// Balance is what a customer has in one currency. It equals the sum of the ledger
// entries on the customer's account; it is stored beside them so that it can be locked
// and checked. It is never negative.
type Balance struct {
	CustomerID string
	Amount     core.Money
	// Position is that of the last ledger entry, and ChangedAt its time.
	Position  int64
	ChangedAt time.Time
	// New reports that the balance has not been stored: Save inserts it.
	New bool
}

// Account returns the customer's account in the ledger.
func (b *Balance) Account() Account { return customerAccount(b.CustomerID) }

// deposit adds an amount that comes from another account.
func (b *Balance) deposit(kind EntryKind, from Account, amount core.Money) (*LedgerEntry, error) {
	sum, err := b.Amount.Add(amount)
	if err != nil {
		return nil, core.InvalidField("/amount/amount", "the balance would become too large")
	}
	b.Amount = sum
	return b.entry(kind, from, b.Account(), amount), nil
}

// withdraw takes an amount that goes to another account. Refusal: insufficient_funds.
func (b *Balance) withdraw(kind EntryKind, to Account, amount core.Money) (*LedgerEntry, error) {
	if b.Amount.Less(amount) {
		return nil, core.Refuse(core.CodeInsufficientFunds, fmt.Sprintf("the balance is below %s", amount))
	}
	remaining, err := b.Amount.Sub(amount)
	if err != nil {
		return nil, err
	}
	b.Amount = remaining
	return b.entry(kind, b.Account(), to, amount), nil
}

// entry returns the ledger entry of a change that has been applied to the balance.
func (b *Balance) entry(kind EntryKind, debit, credit Account, amount core.Money) *LedgerEntry {
	return &LedgerEntry{
		Kind: kind, Debit: debit, Credit: credit, Amount: amount,
		CustomerID: b.CustomerID, BalanceAfter: b.Amount,
	}
}

// place assigns an entry the next position in the balance, and a time after that of the
// entry before it. now is when the transaction began, so another one that began later may
// have changed the balance before.
func (b *Balance) place(e *LedgerEntry, now time.Time) {
	b.Position++
	b.ChangedAt = core.After(b.ChangedAt, now)
	e.Position, e.CreatedAt = b.Position, b.ChangedAt
}

// resource names a customer's balances in the audit log.
func resource(customerID string) string { return "balance/" + customerID }

// auditMetadata says in the audit log whose a balance is.
func auditMetadata(customerID string) core.Metadata {
	return core.Owners{Customer: customerID}.Metadata()
}
