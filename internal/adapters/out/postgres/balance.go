package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
)

// balances implements [payment.Balances].
type balances struct{ t *tx }

// Lock loads a balance for a change, and the entry that the operation has made
// before. Two first entries at once both find no balance; the primary key lets one
// of them in, and the other starts again.
func (s balances) Lock(ctx context.Context, customerID string, currency core.Currency, by core.Operation) (*payment.Balance, *payment.LedgerEntry, error) {
	var rows []dbsqlc.Balance
	var prior []dbsqlc.LedgerEntry
	err := s.t.load(ctx,
		func(q *dbsqlc.Queries) (err error) {
			rows, err = q.LockBalance(ctx, dbsqlc.LockBalanceParams{CustomerID: customerID, Currency: string(currency)})
			return err
		},
		func(q *dbsqlc.Queries) (err error) {
			prior, err = q.LedgerEntryByOperation(ctx, dbsqlc.LedgerEntryByOperationParams{
				CustomerID: &customerID, CreatedBy: &by.Actor, IdempotencyKey: &by.Key,
			})
			return err
		})
	if err != nil {
		return nil, nil, err
	}
	balance, err := balanceOf(rows, customerID, currency)
	if err != nil || len(prior) == 0 {
		return balance, nil, err
	}
	m, err := entryOf(prior[0])
	return balance, m, err
}

// Of gives a customer's balances.
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

// Entries gives a page of entries and one more, newest first.
func (s balances) Entries(ctx context.Context, customerID string, page core.Page) ([]*payment.LedgerEntry, error) {
	var rows []dbsqlc.LedgerEntry
	err := s.t.load(ctx, planAnew(ctx), func(q *dbsqlc.Queries) (err error) {
		rows, err = q.ListLedgerEntries(ctx, dbsqlc.ListLedgerEntriesParams{
			CustomerID: &customerID,
			BeforeTime: optionalTime(page.After.CreatedAt), BeforeID: page.After.ID, Rows: int32(page.Limit + 1),
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	found := make([]*payment.LedgerEntry, len(rows))
	for i, row := range rows {
		if found[i], err = entryOf(row); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Save writes a balance and the entry that changed it.
func (s balances) Save(ctx context.Context, b *payment.Balance, m *payment.LedgerEntry) error {
	if err := s.saveAmount(ctx, b); err != nil {
		return err
	}
	return s.t.writes().InsertLedgerEntry(ctx, entryParams(m))
}

func (s balances) saveAmount(ctx context.Context, b *payment.Balance) error {
	if b == nil {
		return nil
	}
	row := dbsqlc.InsertBalanceParams{CustomerID: b.CustomerID, Currency: string(b.Amount.Currency()), Amount: b.Amount.Decimal()}
	if b.New {
		return s.t.writes().InsertBalance(ctx, row)
	}
	return s.t.writes().UpdateBalance(ctx, dbsqlc.UpdateBalanceParams{CustomerID: row.CustomerID, Currency: row.Currency, Amount: row.Amount})
}

func entryParams(m *payment.LedgerEntry) dbsqlc.InsertLedgerEntryParams {
	return dbsqlc.InsertLedgerEntryParams{
		ID: m.ID, Kind: string(m.Kind), Debit: string(m.Debit), Credit: string(m.Credit),
		Amount: m.Amount.Decimal(), Currency: string(m.Amount.Currency()),
		CustomerID:   optional(m.CustomerID),
		BalanceAfter: balanceAfter(m),
		PaymentID:    optional(m.PaymentID), RefundID: optional(m.RefundID),
		Description: m.Description, Reference: m.Reference,
		CreatedBy: optional(m.By.Actor), IdempotencyKey: optional(m.By.Key), CreatedAt: m.CreatedAt,
	}
}

func entryOf(row dbsqlc.LedgerEntry) (*payment.LedgerEntry, error) {
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	if err != nil {
		return nil, err
	}
	m := &payment.LedgerEntry{
		ID: row.ID, Kind: payment.EntryKind(row.Kind),
		Debit: payment.Account(row.Debit), Credit: payment.Account(row.Credit), Amount: amount,
		PaymentID: valueOf(row.PaymentID), RefundID: valueOf(row.RefundID),
		CustomerID: valueOf(row.CustomerID), Description: row.Description, Reference: row.Reference,
		By: core.Operation{Actor: valueOf(row.CreatedBy), Key: valueOf(row.IdempotencyKey)}, CreatedAt: row.CreatedAt.UTC(),
	}
	if row.BalanceAfter.Valid {
		m.BalanceAfter, err = core.MoneyOf(row.BalanceAfter.Decimal, row.Currency)
	}
	return m, err
}

// balanceOf makes a balance of its row, or a new one where there is none.
func balanceOf(rows []dbsqlc.Balance, customerID string, currency core.Currency) (*payment.Balance, error) {
	if len(rows) == 0 {
		return &payment.Balance{CustomerID: customerID, Amount: core.Zero(currency), New: true}, nil
	}
	amount, err := core.MoneyOf(rows[0].Amount, rows[0].Currency)
	return &payment.Balance{CustomerID: customerID, Amount: amount}, err
}

// balanceAfter gives NULL for money that moved past the balances.
func balanceAfter(m *payment.LedgerEntry) *string {
	if m.CustomerID == "" {
		return nil
	}
	return new(m.BalanceAfter.Decimal())
}
