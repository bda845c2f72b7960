package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// maxAttempts bounds how often a transaction that lost a race starts again.
const maxAttempts = 5

// rollbackTimeout is what a rollback has, whatever became of the caller's context.
const rollbackTimeout = 5 * time.Second

// tx is one transaction on one connection. BEGIN leaves with the first read, writes
// wait until the next read or COMMIT and leave with it: a command that loads once
// takes one round trip to begin, one to load, and one to write and commit.
type tx struct {
	conn *pgxpool.Conn
	db   *DB
	now  time.Time
	// queued waits to be sent; wrote tells that writes have been sent before COMMIT.
	queued []statement
	wrote  bool
	// ended tells that the connection is somebody else's again.
	ended bool
}

type statement struct {
	sql  string
	args []any
}

// txKey is where the context carries the transaction that use cases join.
type txKey struct{}

// inTx runs fn in the transaction that ctx carries, or in one of its own.
func (db *DB) inTx(ctx context.Context, fn func(context.Context, *tx) error) error {
	if t, ok := ctx.Value(txKey{}).(*tx); ok {
		return fn(ctx, t)
	}
	return db.transact(ctx, func(ctx context.Context, t *tx) error {
		if err := t.load(ctx, t.readNow(ctx)); err != nil {
			return err
		}
		return fn(ctx, t)
	})
}

// planAnew goes before a list, and before what reads whole tables: their best plan
// depends on what is asked for, and on how much there is.
func planAnew(ctx context.Context) read {
	return func(q *dbsqlc.Queries) error { return q.PlanAnew(ctx) }
}

// readNow notes when the transaction began, by the clock of the database.
func (t *tx) readNow(ctx context.Context) read {
	return func(q *dbsqlc.Queries) error {
		now, err := q.Now(ctx)
		t.now = now.UTC()
		return err
	}
}

// transact runs fn in a new transaction and commits it. Transactions that lose a
// race start again, a bounded number of times: deadlocks, serialization failures,
// and unique violations, after which fn finds the row that was first.
func (db *DB) transact(ctx context.Context, fn func(context.Context, *tx) error) error {
	for attempt := 1; ; attempt++ {
		err := db.attempt(ctx, fn)
		if !lostRace(err) {
			return err
		}
		if attempt == maxAttempts {
			return fmt.Errorf("%w: %d attempts: %w", core.ErrUnavailable, attempt, err)
		}
		if err := pause(ctx, time.Duration(rand.Int64N(int64(attempt)*int64(5*time.Millisecond)))); err != nil {
			return err
		}
	}
}

func (db *DB) attempt(ctx context.Context, fn func(context.Context, *tx) error) (err error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return unavailable(err)
	}
	t := &tx{conn: conn, db: db, queued: []statement{{sql: "begin"}}}
	defer func() {
		if errors.Is(err, errNothingToCommit) {
			err = nil
			go t.end(ctx) // the answer is known, nobody waits for ROLLBACK
			return
		}
		t.end(ctx) // also when fn panics
	}()
	if err := fn(context.WithValue(ctx, txKey{}, t), t); err != nil {
		return err
	}
	return t.commit(ctx)
}

// errEnded is the error of work on a transaction that is over.
var errEnded = errors.New("the transaction has ended")

// errNothingToCommit ends a transaction that only read, without a round trip that
// anybody waits for.
var errNothingToCommit = errors.New("nothing to commit")

// read is one generated query of a load and what to do with its answer.
type read func(q *dbsqlc.Queries) error

// load sends what waits and the reads in one round trip. Each read runs twice, first
// to hand in its query, then to take the answer.
func (t *tx) load(ctx context.Context, reads ...read) error {
	if t.ended {
		return errEnded
	}
	batch := t.take(t.begun() && !t.wrote)
	for _, r := range reads {
		if err := r(dbsqlc.New(recorder{batch})); !errors.Is(err, errRecorded) {
			return fmt.Errorf("a read did not hand in a query: %w", err)
		}
	}
	results := t.conn.SendBatch(ctx, batch)
	err := skip(results, batch.Len()-len(reads))
	for _, r := range reads {
		if err == nil {
			err = r(dbsqlc.New(player{results}))
		}
	}
	return unavailable(finish(results, err))
}

// take empties the queue into a batch. The first writes that leave before COMMIT get a
// savepoint in front, so that a refusal can still undo them.
func (t *tx) take(savepoint bool) *pgx.Batch {
	batch := &pgx.Batch{}
	if savepoint && len(t.queued) > 0 {
		batch.Queue("savepoint command")
		t.wrote = true
	}
	for _, s := range t.queued {
		batch.Queue(s.sql, s.args...)
	}
	t.queued = nil
	return batch
}

func (t *tx) begun() bool { return t.conn.Conn().PgConn().TxStatus() != 'I' }

// discard drops what the command wrote and leaves the transaction usable.
func (t *tx) discard() {
	t.queued = nil
	if t.wrote {
		t.queued = append(t.queued, statement{sql: "rollback to savepoint command"})
	}
}

// commit sends the writes that wait together with COMMIT. If the server reports an
// error, it has rolled back. If its answer is lost, nobody knows: since pgx 5.9
// SafeToRetry is true for that, so it is not asked.
func (t *tx) commit(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return unavailable(err) // nothing has been sent, so nothing is unknown
	}
	wrote := t.wrote || len(t.queued) > 0
	batch := t.take(false)
	batch.Queue("commit")
	results := t.conn.SendBatch(ctx, batch)
	err := skip(results, batch.Len()-1)
	var tag pgconn.CommandTag
	if err == nil {
		tag, err = results.Exec()
	}
	err = finish(results, err)
	switch {
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil:
		return errors.New("the database rolled back instead of committing")
	case refusedByServer(err) || !wrote:
		return unavailable(err)
	}
	return fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, safe(err))
}

// end rolls back what did not commit, on a context of its own, for the caller's may be
// over, and gives the connection back. If that fails, the pool drops the connection.
func (t *tx) end(ctx context.Context) {
	t.ended = true
	defer t.conn.Release()
	if t.conn.Conn().IsClosed() || !t.begun() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "rollback")
}

// skip reads the answers to n statements that give no rows.
func skip(results pgx.BatchResults, n int) error {
	for range n {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	return nil
}

// finish ends a batch. The first error counts; Close only repeats it.
func finish(results pgx.BatchResults, err error) error {
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	return err
}

// pause waits, or gives up with the context.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}
}
