package payment

import (
	"errors"
	"fmt"
	"time"

	"example.com/orders/internal/core"
)

// Balance is a customer's money in one currency. It equals the sum of the ledger
// entries on the customer account, and is stored in addition so that it can be locked
// and checked. It is never negative.
type Balance struct {
	CustomerID string
	Amount     core.Money
	// Position and ChangedAt are those of the last ledger entry.
	Position  int64
	ChangedAt time.Time
	// New reports that the balance is not stored yet: Save inserts it.
	New bool
}

// Clone returns a deep copy, nil for nil.
func (b *Balance) Clone() *Balance {
	if b == nil {
		return nil
	}
	return new(*b)
}

// Account returns the customer's ledger account.
func (b *Balance) Account() Account { return customerAccount(b.CustomerID) }

// deposit adds an amount from a second account. The refusal is about the whole command,
// because not every command that deposits names an amount; see [atAmount].
func (b *Balance) deposit(kind EntryKind, from Account, amount core.Money) (*LedgerEntry, error) {
	sum, err := b.Amount.Add(amount)
	if err != nil {
		return nil, core.InvalidField("", "the balance of the customer would become too large")
	}
	b.Amount = sum
	return b.entry(kind, from, b.Account(), amount), nil
}

// atAmount moves a refusal to the amount in the command.
func atAmount(err error) error {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		for i := range fault.Fields {
			fault.Fields[i].Pointer = "/amount/amount"
		}
	}
	return err
}

// withdraw moves an amount to a second account. Refusal: insufficient_funds.
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

// entry returns the ledger entry for a change already applied to the balance.
func (b *Balance) entry(kind EntryKind, debit, credit Account, amount core.Money) *LedgerEntry {
	return &LedgerEntry{
		Kind: kind, Debit: debit, Credit: credit, Amount: amount,
		CustomerID: b.CustomerID, BalanceAfter: b.Amount,
	}
}

// place assigns an entry the next position in the balance, and a time after the previous
// entry. now alone is not enough: a transaction that began later may have locked the
// balance first.
func (b *Balance) place(e *LedgerEntry, now time.Time) {
	b.Position++
	b.ChangedAt = core.After(b.ChangedAt, now)
	e.Position, e.CreatedAt = b.Position, b.ChangedAt
}

func resource(customerID string) string { return "balance/" + customerID }

func auditMetadata(customerID string) core.Metadata {
	return core.Owners{Customer: customerID}.Metadata()
}
