package payment

import (
	"time"

	"example.com/orders/internal/core"
)

// Account is one side of a movement. Customers' accounts are what we owe them;
// money comes from and goes to the other accounts.
type Account string

// World is where credited money comes from and charged money goes to.
const World Account = "world"

// Provider is where money of cards comes from and goes back to.
const Provider Account = "provider"

func customerAccount(id string) Account { return Account("customer/" + id) }

// sellerAccount collects what customers paid for a seller's orders.
func sellerAccount(id string) Account { return Account("seller/" + id) }

// MovementKind says why money moved.
type MovementKind string

// The kinds of movement.
const (
	Credit MovementKind = "credit"
	Charge MovementKind = "charge"
	Pay    MovementKind = "payment"
	Repay  MovementKind = "refund"
)

// Movement is one entry of the books: Amount leaves the account Debit and arrives
// at the account Credit, so the books balance by construction. Movements are
// written once and never changed.
type Movement struct {
	ID     int64
	Kind   MovementKind
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
func (b *Balance) deposit(kind MovementKind, from Account, amount core.Money) (*Movement, error) {
	if err := b.add(amount); err != nil {
		return nil, err
	}
	return b.movement(kind, from, b.Account(), amount), nil
}

// withdraw takes from the balance what goes to another account. Refusal:
// insufficient_funds.
func (b *Balance) withdraw(kind MovementKind, to Account, amount core.Money) (*Movement, error) {
	if err := b.take(amount); err != nil {
		return nil, err
	}
	return b.movement(kind, b.Account(), to, amount), nil
}

func (b *Balance) movement(kind MovementKind, debit, credit Account, amount core.Money) *Movement {
	return &Movement{
		Kind: kind, Debit: debit, Credit: credit, Amount: amount,
		CustomerID: b.CustomerID, BalanceAfter: b.Amount,
	}
}
