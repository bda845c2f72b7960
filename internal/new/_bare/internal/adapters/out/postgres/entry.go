package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/entry"
)

// entries implements [entry.Entries].
type entries struct{ t *tx }

// Get loads an entry.
func (s entries) Get(ctx context.Context, id int64) (*entry.Entry, error) {
	e, err := s.one(ctx, func(q *dbsqlc.Queries) ([]dbsqlc.Entry, error) { return q.FindEntry(ctx, id) })
	if err == nil && e == nil {
		return nil, core.ErrNotFound
	}
	return e, err
}

// CreatedBy loads the entry that an operation has created.
func (s entries) CreatedBy(ctx context.Context, by core.Operation) (*entry.Entry, error) {
	return s.one(ctx, func(q *dbsqlc.Queries) ([]dbsqlc.Entry, error) {
		return q.EntryCreatedBy(ctx, dbsqlc.EntryCreatedByParams{CreatedBy: by.Actor, IdempotencyKey: by.Key})
	})
}

// one loads the entry that a query finds, nil if there is none.
func (s entries) one(ctx context.Context, find func(*dbsqlc.Queries) ([]dbsqlc.Entry, error)) (*entry.Entry, error) {
	var rows []dbsqlc.Entry
	err := s.t.load(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = find(q)
		return err
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	row := rows[0]
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	return &entry.Entry{
		ID: row.ID, Amount: amount, Description: row.Description,
		CreatedBy: core.Operation{Actor: row.CreatedBy, Key: row.IdempotencyKey}, CreatedAt: row.CreatedAt.UTC(),
	}, err
}

// Add inserts an entry.
func (s entries) Add(ctx context.Context, e *entry.Entry) error {
	return s.t.writes().InsertEntry(ctx, dbsqlc.InsertEntryParams{
		ID: e.ID, Amount: e.Amount.Amount(), Currency: string(e.Amount.Currency()), Description: e.Description,
		CreatedBy: e.CreatedBy.Actor, IdempotencyKey: e.CreatedBy.Key, CreatedAt: e.CreatedAt,
	})
}
