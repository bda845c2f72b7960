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

// Lock gives a balance, and the entry that the operation has made before.
func (t balances) Lock(_ context.Context, customerID string, currency core.Currency, by core.Operation) (*payment.Balance, *payment.LedgerEntry, error) {
	for _, m := range t.entries {
		if m.CustomerID == customerID && m.By == by {
			return t.balance(customerID, currency), copyOf(m), nil
		}
	}
	return t.balance(customerID, currency), nil, nil
}

// Of gives a customer's balances.
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

// Entries gives a page of what moved a customer's balance and one more, newest first.
func (t balances) Entries(_ context.Context, customerID string, page core.Page) ([]*payment.LedgerEntry, error) {
	rows := rowsOf(t.entries, func(m *payment.LedgerEntry) bool { return m.CustomerID == customerID }, at)
	return pageOf(rows, page, copyOf), nil
}

func at(m *payment.LedgerEntry) core.Position { return core.Position{CreatedAt: m.CreatedAt, ID: m.ID} }

// Save keeps a entry and the balance that it changed, nil for none, unless the operation has
// moved the balance before. A entry without a key is of no operation.
func (t balances) Save(_ context.Context, b *payment.Balance, m *payment.LedgerEntry) error {
	for _, other := range t.entries {
		if m.By.Key != "" && other.By == m.By && other.CustomerID == m.CustomerID {
			return duplicate("entry of one operation")
		}
	}
	entry := copyOf(m)
	entry.CreatedAt = stamp(m.CreatedAt)
	t.entries[m.ID] = entry
	return t.saveAmount(b)
}

func (t balances) saveAmount(b *payment.Balance) error {
	if b == nil {
		return nil
	}
	key := purse{b.CustomerID, b.Amount.Currency()}
	if t.balances[key] != nil && b.New {
		return duplicate("balance in one currency")
	}
	balance := copyOf(b)
	balance.New = false
	t.balances[key] = balance
	return nil
}

func (t *tx) balance(customerID string, currency core.Currency) *payment.Balance {
	if b, found := t.balances[purse{customerID, currency}]; found {
		return copyOf(b)
	}
	return &payment.Balance{CustomerID: customerID, Amount: core.Zero(currency), New: true}
}
