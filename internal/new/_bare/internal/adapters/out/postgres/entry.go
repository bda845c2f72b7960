package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/entry"
)

// entries implements [entry.Entries].
type entries struct{ tx *session }

// Get loads an entry.
func (s entries) Get(ctx context.Context, id int64) (*entry.Entry, error) {
	return one(ctx, s.tx, (*queries).FindEntry, id, entryOf)
}

// CreatedBy loads the entry that an operation has created, nil if there is none.
func (s entries) CreatedBy(ctx context.Context, by core.Operation) (*entry.Entry, error) {
	found, err := list(ctx, s.tx, (*queries).EntryCreatedBy, dbsqlc.EntryCreatedByParams{
		CreatedBy: by.Actor, IdempotencyKey: by.Key,
	}, entryOf)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// Add inserts an entry.
func (s entries) Add(ctx context.Context, e *entry.Entry) error {
	return s.tx.writes().InsertEntry(ctx, dbsqlc.InsertEntryParams{
		ID: e.ID, Amount: e.Amount.Amount(), Currency: string(e.Amount.Currency()), Description: e.Description,
		CreatedBy: e.CreatedBy.Actor, IdempotencyKey: e.CreatedBy.Key, CreatedAt: e.CreatedAt,
	})
}

func entryOf(row dbsqlc.Entry) (*entry.Entry, error) {
	amount, err := core.MoneyOf(row.Amount, row.Currency)
	return &entry.Entry{
		ID: row.ID, Amount: amount, Description: row.Description,
		CreatedBy: core.Operation{Actor: row.CreatedBy, Key: row.IdempotencyKey}, CreatedAt: row.CreatedAt.UTC(),
	}, err
}
