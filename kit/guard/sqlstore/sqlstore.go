// Package sqlstore keeps the records of package guard in PostgreSQL, on database/sql.
// It works with every driver whose errors have a method SQLState. Those of pgx and
// lib/pq are tested.
//
// Create the table with the statements of [Schema], in a migration or by hand. Writes
// that belong to a command go through the transaction that [Tx] returns: it commits
// them with the record, and a write by another connection would not be exactly once. An
// ORM needs a session on that transaction.
//
// A guarded request makes four statements more than an unguarded handler in a
// transaction: claim, look-up, savepoint and record. What the documentation of pgxstore
// says about PostgreSQL holds here as well, apart from the option for poolers, which is
// one of pgx.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/internal/postgres"
)

// Store implements [guard.LookupStore].
type Store struct{ store postgres.Store }

// An Option changes a store.
type Option func(*Store)

// Table names the table of the records: idempotency_record by default. The name may
// begin with a schema. Table panics unless it is in lower case and needs no quotes.
func Table(name string) Option {
	return func(s *Store) { s.store.Table = postgres.NewTable(name) }
}

// ConfirmReplays lets a replay wait until the record has reached the synchronous
// standbys, as a commit does. A first request may have been cut off while it waited.
func ConfirmReplays() Option {
	return func(s *Store) { s.store.Confirm = true }
}

// New returns a store on a database.
func New(db *sql.DB, options ...Option) *Store {
	s := &Store{postgres.Store{DB: database{db}, Table: postgres.DefaultTable}}
	for _, change := range options {
		change(s)
	}
	return s
}

// Schema returns the statements that create the table and its index, for a migration.
// The name is idempotency_record, or that of [Table], and Schema panics as Table does.
func Schema(table string) string { return postgres.NewTable(table).Schema() }

// Check returns an error that names everything that is missing: the table, its columns
// and key, privileges of the role, the isolation level. Call it when the service
// starts.
func (s *Store) Check(ctx context.Context) error { return s.store.Check(ctx) }

// Execute implements [guard.Store]. It runs the command up to five times, if the
// transaction loses a race: SQLSTATE 40P01 or 40001. The error of the fifth is returned.
func (s *Store) Execute(ctx context.Context, claim guard.Claim, run guard.Command) (guard.Record, bool, error) {
	rec, replayed, err := s.store.Execute(ctx, claim, run)
	if err != nil && ctx.Err() != nil && !errors.Is(err, guard.ErrOutcomeUnknown) {
		err = errors.Join(err, ctx.Err()) // lib/pq says only that a statement was cancelled
	}
	return rec, replayed, err
}

// Lookup implements [guard.LookupStore], for a route such as GET
// /idempotency-keys/{key}.
func (s *Store) Lookup(ctx context.Context, id guard.ID) (guard.Record, bool, error) {
	return s.store.Lookup(ctx, id)
}

// Clean deletes all expired records, in batches of 1000, and returns the number that it
// deleted, also after an error. An expired record counts as absent, so a late clean-up
// only costs space.
func (s *Store) Clean(ctx context.Context) (int64, error) { return s.store.Clean(ctx) }

// KeepClean calls [Store.Clean] at once, and again after each interval, until ctx ends. It
// logs failures. All processes of a service may clean up at the same time.
func (s *Store) KeepClean(ctx context.Context, every time.Duration) { s.store.KeepClean(ctx, every) }

type txKey struct{}

// Tx returns the transaction of the command that runs in ctx. The guard ends it: a
// command that calls Commit or Rollback fails, and after its Commit there is an effect
// without a record.
//
// Tx panics outside of a command, because a write without the guard would be a mistake.
func Tx(ctx context.Context) *sql.Tx {
	tx, ok := ctx.Value(txKey{}).(*sql.Tx)
	if !ok {
		panic("sqlstore: Tx is called outside of a guarded command")
	}
	return tx
}

// database implements [postgres.DB].
type database struct{ db *sql.DB }

func (d database) Begin(ctx context.Context, statements ...*postgres.Statement) (postgres.Tx, error) {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	t := transaction{tx}
	if err := t.send(ctx, statements); err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return t, nil
}

// transaction implements [postgres.Tx].
type transaction struct{ tx *sql.Tx }

func (t transaction) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, txKey{}, t.tx)
}

func (t transaction) send(ctx context.Context, statements []*postgres.Statement) error {
	for _, s := range statements {
		if err := t.execute(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (t transaction) execute(ctx context.Context, s *postgres.Statement) error {
	if s.Into != nil {
		err := t.tx.QueryRowContext(ctx, s.SQL, s.Args...).Scan(s.Into...)
		s.NoRow = errors.Is(err, sql.ErrNoRows)
		if s.NoRow {
			return nil
		}
		return err
	}
	result, err := t.tx.ExecContext(ctx, s.SQL, s.Args...)
	if err != nil {
		return err
	}
	s.Affected, err = result.RowsAffected()
	return err
}

func (t transaction) Commit(ctx context.Context, statements ...*postgres.Statement) error {
	if err := t.send(ctx, statements); err != nil {
		return err
	}
	if err := t.tx.Commit(); err != nil {
		return postgres.Unknown(err)
	}
	return nil
}

func (t transaction) Rollback(context.Context) error { return t.tx.Rollback() }
