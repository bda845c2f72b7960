package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// balances implements [payment.Balances].
type balances struct{ tx *session }

// Lock locks and loads a balance, and the operation's earlier entry. Two concurrent
// first changes both find no balance and insert one: the primary key accepts one, and
// the other transaction starts over. The reference is looked up after the lock, so that
// the lookup sees the previous holder's entry.
func (s balances) Lock(ctx context.Context, query payment.BalanceQuery) (payment.LockedBalance, error) {
	return ask(ctx, s.tx, balanceWant(query), s.tx.batch.lockedBalance)
}

// Of returns a customer's balances.
func (s balances) Of(ctx context.Context, customerID string) ([]*payment.Balance, error) {
	return list(ctx, s.tx, (*queries).BalancesOf, customerID, balanceOf)
}

// Save inserts or updates a balance.
func (s balances) Save(_ context.Context, b *payment.Balance) error {
	return s.tx.write(savedBalance{b.Clone()})
}

// savedBalance is a balance changed by a command.
type savedBalance struct{ *payment.Balance }

// join lets later members change the balance further. Its row is written once.
func (s savedBalance) join(b *batch) {
	key := balanceKey{s.CustomerID, s.Amount.Currency()}
	if s.New {
		b.newBalances.add(key, nil)
	} else if !b.newBalances.has(key) {
		b.oldBalances.add(key, b.balances[key])
	}
	later := s.Clone()
	later.New = false
	b.balances[key] = later
}

func balanceOf(row dbsqlc.Balance) (*payment.Balance, error) {
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	return &payment.Balance{
		CustomerID: row.CustomerID, Amount: amount, Position: row.Position, ChangedAt: row.ChangedAt.UTC(),
	}, err
}
