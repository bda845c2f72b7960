package postgres

import (
	"context"
	"errors"

	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/adapters/out/postgres/lanes"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
)

// batch has the data of one transaction. It implements [group.Batch].
//
// No command of this service shares a transaction yet: the first load of each returns
// [group.ErrNotJoined]. To join, a load becomes a want, load reads the wants of all
// commands in one statement, and their changes are written in one statement.
type batch struct {
	ctx    context.Context //nolint:containedctx // of the transaction
	tx     *pgtx.Tx
	shared bool
	// locking begins the names of the rows that a load is locking.
	locking string

	events     []addedEvent
	audited    []addedAuditEntry
	statements []statement
}

func newBatch(ctx context.Context, t *pgtx.Tx, shared bool) *batch {
	return &batch{ctx: ctx, tx: t, shared: shared}
}

// Session implements [group.Batch].
func (b *batch) Session(held *lanes.HeldRows) group.Session {
	return &session{tx: b.tx, batch: b, held: held}
}

// Look implements [group.Batch].
func (b *batch) Look(context.Context, []group.Session) error { return nil }

func (b *batch) look(context.Context, ...want) error { return nil }

func (b *batch) rows(w want) []string { return w.rows() }

// Load implements [group.Batch].
func (b *batch) Load(context.Context, []group.Session) error { return nil }

func (b *batch) load(context.Context, ...want) error { return nil }

// Keep implements [group.Session].
func (s *session) Keep() error {
	if s.batch.shared && len(s.changes) > 0 {
		return group.ErrNotJoined
	}
	for _, c := range s.changes {
		c.join(s.batch)
	}
	return nil
}

// Write implements [group.Batch].
func (b *batch) Write(ctx context.Context) error {
	var err error
	for _, s := range b.statements {
		err = errors.Join(err, b.tx.Queue(s.sql, s.args))
	}
	q := b.tx.Writes()
	err = errors.Join(
		err,
		pgtx.WriteRows(ctx, b.events, q.InsertEvent, addedEvent.params, q.InsertEvents, eventsParams),
		pgtx.WriteRows(ctx, b.audited, q.InsertAuditEntry, addedAuditEntry.params, q.InsertAuditEntries, auditParams),
	)
	b.events, b.audited, b.statements = nil, nil, nil
	return err
}
