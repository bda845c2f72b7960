package postgres

import (
	"context"

	"example.com/orders/internal/core/audit"
	"example.com/orders/internal/core/entry"
)

// Entries returns the store of the use cases about entries.
func (db *DB) Entries() entry.Store { return entryStore{db} }

// Audit returns the store of the use cases about the audit log.
func (db *DB) Audit() audit.Store { return auditStore{db} }

type entryStore struct{ db *DB }

func (s entryStore) InTx(ctx context.Context, fn func(context.Context, entry.Tx) error) error {
	return s.db.inTx(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.entries()) })
}

func (s entryStore) Read(ctx context.Context, fn func(context.Context, entry.Tx) error) error {
	return s.db.read(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.entries()) })
}

func (s entryStore) ReadStale(ctx context.Context, fn func(context.Context, entry.Tx) error) error {
	return s.db.readStale(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t.entries()) })
}

func (t *tx) entries() entry.Tx {
	return entry.Tx{
		Now: t.now, IDs: t, Entries: entries{t}, Outbox: outboxWriter{t}, AuditLog: auditLog{t}, Inbox: inbox{t},
	}
}

type auditStore struct{ db *DB }

func (s auditStore) InTx(ctx context.Context, fn func(context.Context, audit.Tx) error) error {
	return s.db.inTx(ctx, func(ctx context.Context, t *tx) error {
		return fn(ctx, audit.Tx{Entries: auditEntries{t}, AuditLog: auditLog{t}})
	})
}
