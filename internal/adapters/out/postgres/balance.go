package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// balances implements [payment.Balances].
type balances struct{ t *tx }

// Lock locks and loads a balance, and the entry that the operation made before. Two
// first changes at the same time both find no balance and both insert one. The primary
// key accepts one of them; the other transaction starts from the beginning. The look-up
// of the reference comes after the lock, so that it sees the entry of a transaction that
// held it.
func (s balances) Lock(ctx context.Context, query payment.BalanceQuery) (payment.LockedBalance, error) {
	if s.t.member != nil {
		return ask(s.t.member, balanceWant(query), s.t.group.lockedBalance)
	}
	var rows []dbsqlc.Balance
	var prior []dbsqlc.LedgerEntry
	var referred []int64
	reads := []read{
		func(q *dbsqlc.Queries) (err error) {
			rows, err = q.LockBalance(ctx, dbsqlc.LockBalanceParams{CustomerID: query.CustomerID, Currency: string(query.Currency)})
			return err
		},
		func(q *dbsqlc.Queries) (err error) {
			prior, err = q.LedgerEntryByOperation(ctx, dbsqlc.LedgerEntryByOperationParams{
				CustomerID: &query.CustomerID, CreatedBy: &query.By.Actor, IdempotencyKey: &query.By.Key,
			})
			return err
		},
	}
	if query.Reference != "" {
		reads = append(reads, func(q *dbsqlc.Queries) (err error) {
			referred, err = q.LedgerEntryByReference(ctx, dbsqlc.LedgerEntryByReferenceParams{
				CustomerID: &query.CustomerID, Kind: string(query.Kind), Reference: query.Reference,
			})
			return err
		})
	}
	if err := s.t.load(ctx, reads...); err != nil {
		return payment.LockedBalance{}, err
	}
	locked := payment.LockedBalance{ReferenceTaken: len(referred) > 0}
	var err error
	if locked.Balance, err = balanceOf(rows, query.CustomerID, query.Currency); err != nil || len(prior) == 0 {
		return locked, err
	}
	locked.Prior, err = entryOf(prior[0])
	return locked, err
}

// Of returns a customer's balances.
func (s balances) Of(ctx context.Context, customerID string) ([]*payment.Balance, error) {
	var rows []dbsqlc.Balance
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = q.BalancesOf(ctx, customerID)
		return err
	})
	if err != nil {
		return nil, err
	}
	found := make([]*payment.Balance, len(rows))
	for i, row := range rows {
		if found[i], err = balanceOf(rows[i:i+1], customerID, core.Currency(row.Currency)); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Save inserts or updates a balance.
func (s balances) Save(ctx context.Context, b *payment.Balance) error {
	return s.t.write(ctx, savedBalance{b})
}

// savedBalance is a balance that a command has changed.
type savedBalance struct{ *payment.Balance }

func (b savedBalance) alone(ctx context.Context, q *dbsqlc.Queries) error {
	currency, amount := string(b.Amount.Currency()), b.Amount.Decimal()
	if b.New {
		return q.InsertBalance(ctx, dbsqlc.InsertBalanceParams{
			CustomerID: b.CustomerID, Currency: currency, Amount: amount,
			Position: b.Position, ChangedAt: b.ChangedAt,
		})
	}
	return q.UpdateBalance(ctx, dbsqlc.UpdateBalanceParams{
		CustomerID: b.CustomerID, Currency: currency, Amount: amount,
		Position: b.Position, ChangedAt: b.ChangedAt,
	})
}

// join lets later members change the balance further. Its row is written once.
func (b savedBalance) join(g *group) {
	key := balanceKey{b.CustomerID, b.Amount.Currency()}
	if b.New {
		g.newBalances.add(key, nil)
	} else if !g.newBalances.has(key) {
		g.oldBalances.add(key, g.balances[key])
	}
	later := copyOf(b.Balance)
	later.New = false
	g.balances[key] = later
}

// balanceOf converts the row of a balance. Without a row the balance is new.
func balanceOf(rows []dbsqlc.Balance, customerID string, currency core.Currency) (*payment.Balance, error) {
	if len(rows) == 0 {
		return &payment.Balance{CustomerID: customerID, Amount: core.Zero(currency), New: true}, nil
	}
	amount, err := core.MoneyOf(rows[0].Amount, rows[0].Currency)
	return &payment.Balance{
		CustomerID: customerID, Amount: amount, Position: rows[0].Position, ChangedAt: rows[0].ChangedAt.UTC(),
	}, err
}
