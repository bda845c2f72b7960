// Package payment is the part of the business that moves money: customers'
// balances, payments for orders, refunds, and the double-entry books that all of
// them are written in.
package payment

import (
	"fmt"

	"example.com/orders/internal/core"
)

// Balance is what a customer has in one currency: the sum of the entries on
// their account, kept beside them so that it can be locked and checked. It is
// never negative.
type Balance struct {
	CustomerID string
	Amount     core.Money
	// New tells that the customer has had no entry in this currency yet.
	New bool
}

// Account gives the customer's account in the books.
func (b *Balance) Account() Account { return customerAccount(b.CustomerID) }

func (b *Balance) add(m core.Money) error {
	sum, err := b.Amount.Add(m)
	if err != nil {
		return core.InvalidField("/amount/amount", "the balance would be too large")
	}
	b.Amount = sum
	return nil
}

func (b *Balance) take(m core.Money) error {
	if b.Amount.Less(m) {
		return core.Refuse(core.Unpaid, core.CodeInsufficientFunds,
			fmt.Sprintf("the balance has less than %s", m))
	}
	rest, err := b.Amount.Sub(m)
	b.Amount = rest
	return err
}

// Event tells what happened to the balance.
func (b *Balance) Event(what string, m *LedgerEntry) core.Event {
	return core.Event{
		Type:      "balance." + what,
		Aggregate: "balance/" + b.CustomerID + "/" + string(b.Amount.Currency()),
		Data: map[string]any{
			"customer_id":            b.CustomerID,
			"balance_transaction_id": m.ID,
			"kind":                   string(m.Kind),
			"amount":                 m.Amount.Decimal(),
			"balance_after":          b.Amount.Decimal(),
			"currency":               string(m.Amount.Currency()),
		},
	}
}
