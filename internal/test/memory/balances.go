package memory

import (
	"cmp"
	"context"
	"slices"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// balances implements [payment.Balances].
type balances struct{ *tx }

// Lock returns a balance, and the entry that the operation made before.
func (t balances) Lock(_ context.Context, customerID string, currency core.Currency, by core.Operation) (*payment.Balance, *payment.LedgerEntry, error) {
	for _, e := range t.entries {
		if e.CustomerID == customerID && e.By == by {
			return t.balance(customerID, currency), copyOf(e), nil
		}
	}
	return t.balance(customerID, currency), nil, nil
}

// Of returns a customer's balances.
func (t balances) Of(_ context.Context, customerID string) ([]*payment.Balance, error) {
	found := []*payment.Balance{}
	for key := range t.balances {
		if key.customerID == customerID {
			found = append(found, t.balance(customerID, key.currency))
		}
	}
	slices.SortFunc(found, func(a, b *payment.Balance) int {
		return cmp.Compare(a.Amount.Currency(), b.Amount.Currency())
	})
	return found, nil
}

// Save inserts or updates a balance. A customer has one balance in each currency.
func (t balances) Save(_ context.Context, b *payment.Balance) error {
	key := balanceKey{b.CustomerID, b.Amount.Currency()}
	if t.balances[key] != nil && b.New {
		return duplicate("balance in one currency")
	}
	stored := copyOf(b)
	stored.New = false
	t.balances[key] = stored
	return nil
}

func (t *tx) balance(customerID string, currency core.Currency) *payment.Balance {
	if b, found := t.balances[balanceKey{customerID, currency}]; found {
		return copyOf(b)
	}
	return &payment.Balance{CustomerID: customerID, Amount: core.Zero(currency), New: true}
}
