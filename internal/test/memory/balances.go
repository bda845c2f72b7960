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
func (t balances) Lock(_ context.Context, q payment.BalanceQuery) (payment.LockedBalance, error) {
	locked := payment.LockedBalance{Balance: t.balance(q.CustomerID, q.Currency)}
	for _, e := range t.entries {
		if e.CustomerID != q.CustomerID {
			continue
		}
		if e.By == q.By {
			locked.Prior = copyOf(e)
		}
		locked.ReferenceTaken = locked.ReferenceTaken || e.Reference != "" && e.Reference == q.Reference && e.Kind == q.Kind
	}
	return locked, nil
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
	stored.New, stored.ChangedAt = false, stamp(b.ChangedAt)
	t.balances[key] = stored
	return nil
}

func (t *tx) balance(customerID string, currency core.Currency) *payment.Balance {
	if b, found := t.balances[balanceKey{customerID, currency}]; found {
		return copyOf(b)
	}
	return &payment.Balance{CustomerID: customerID, Amount: core.Zero(currency), New: true}
}
