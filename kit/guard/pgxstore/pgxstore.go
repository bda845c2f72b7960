// Package pgxstore keeps the records of package guard in PostgreSQL, on a pool of pgx.
//
// Create the table with the statements of [Schema], in a migration or by hand. Writes
// that belong to a command go through the transaction that [Tx] returns: it commits
// them with the record, and a write by another connection would not be exactly once.
//
// A guarded request makes no round trip more than an unguarded handler in a
// transaction: claim and look-up travel with BEGIN, and the record with COMMIT. A replay
// makes two.
//
// # PostgreSQL
//
// The store needs transactions in READ COMMITTED, and says so if the pool, the role or
// the database is set to another level. Keys are locked with pg_try_advisory_xact_lock,
// by a 64-bit hash. Poolers in transaction mode work, with default_query_exec_mode=exec
// in the URL of the database. With an asynchronous standby, a failover loses effect and
// record together; with a synchronous one, use [ConfirmReplays].
package pgxstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

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

// New returns a store on a pool.
func New(pool *pgxpool.Pool, options ...Option) *Store {
	s := &Store{postgres.Store{DB: database{pool}, Table: postgres.DefaultTable}}
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
	return s.store.Execute(ctx, claim, run)
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

// Tx returns the transaction of the command that runs in ctx. The guard ends it: its
// Commit and Rollback only return an error. Begin sets a savepoint. With sqlc, pass it
// to Queries.WithTx.
//
// Tx panics outside of a command, because a write without the guard would be a mistake.
func Tx(ctx context.Context) pgx.Tx {
	tx, ok := ctx.Value(txKey{}).(pgx.Tx)
	if !ok {
		panic("pgxstore: Tx is called outside of a guarded command")
	}
	return tx
}

// commandTx is a transaction that only the guard can end.
type commandTx struct{ pgx.Tx }

var errEnds = errors.New("the guard commits or rolls back the transaction of a command")

func (*commandTx) Commit(context.Context) error   { return errEnds }
func (*commandTx) Rollback(context.Context) error { return errEnds }

// database implements [postgres.DB].
type database struct{ pool *pgxpool.Pool }

// Begin sends BEGIN and all statements at once.
func (d database) Begin(ctx context.Context, statements ...*postgres.Statement) (postgres.Tx, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{})
	queue(batch, statements)
	results := conn.SendBatch(ctx, batch)
	t := transaction{&commandTx{results.Tx()}, conn}
	if err := results.Close(); err != nil {
		_ = t.Rollback(ctx)
		return nil, err
	}
	return t, nil
}

// transaction implements [postgres.Tx].
type transaction struct {
	command *commandTx
	conn    *pgxpool.Conn
}

func (t transaction) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, txKey{}, pgx.Tx(t.command))
}

// Commit sends all statements and COMMIT at once.
func (t transaction) Commit(ctx context.Context, statements ...*postgres.Statement) error {
	if err := ctx.Err(); err != nil {
		return err // COMMIT is not sent
	}
	batch := &pgx.Batch{}
	queue(batch, statements)
	batch.Queue("commit")
	results := t.command.SendBatch(ctx, batch)
	defer results.Close() //nolint:errcheck // it repeats an error
	for range statements {
		if _, err := results.Exec(); err != nil {
			return failed(err)
		}
	}
	if err := results.Close(); err != nil {
		return postgres.Unknown(err)
	}
	t.command.Tx = ended
	t.conn.Release()
	return nil
}

// failed returns the error of a statement before COMMIT. A server that reports one skips
// the COMMIT. A pooler that has lost the server reports a fatal error or a connection
// exception (08), and the server may have committed. The driver sends no statement
// before it has prepared all.
func failed(err error) error {
	if _, unsent := errors.AsType[pgx.ErrPreprocessingBatch](err); unsent {
		return err
	}
	reported, ok := errors.AsType[*pgconn.PgError](err)
	if ok && reported.SeverityUnlocalized == "ERROR" && !strings.HasPrefix(reported.Code, "08") {
		return err
	}
	return postgres.Unknown(err)
}

func (t transaction) Rollback(ctx context.Context) error {
	if t.command.Tx == ended {
		return nil
	}
	defer t.conn.Release()
	return t.command.Tx.Rollback(ctx)
}

// ended is a transaction that has ended. It takes the place of one that a batch has
// committed, which pgx still takes for open: a goroutine that a command has left behind
// must not write to a connection that is back in the pool.
var ended = func() pgx.Tx {
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{})
	return pgx.FailedBatchResults(batch, pgx.ErrTxClosed).Tx()
}()

// queue adds statements to a batch, and their results.
func queue(batch *pgx.Batch, statements []*postgres.Statement) {
	for _, s := range statements {
		queued := batch.Queue(s.SQL, s.Args...)
		if s.Into == nil {
			queued.Exec(func(tag pgconn.CommandTag) error { s.Affected = tag.RowsAffected(); return nil })
			continue
		}
		queued.QueryRow(func(row pgx.Row) error {
			err := row.Scan(s.Into...)
			s.NoRow = errors.Is(err, pgx.ErrNoRows)
			if s.NoRow {
				return nil
			}
			return err
		})
	}
}
