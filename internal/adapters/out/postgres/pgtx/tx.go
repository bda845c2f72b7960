package pgtx

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres/admission"
	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// MaxRuns limits a transaction's runs after lost races.
const MaxRuns = 5

// maxPause limits the random pause before the second run.
const maxPause = 5 * time.Millisecond

// rollbackTimeout limits a rollback. It does not depend on the caller's context, which
// has often ended by then.
const rollbackTimeout = 5 * time.Second

// Tx is a transaction on one connection. It saves round trips in two ways: BEGIN is
// sent with the first load, which claims a key or reads the time, and writes are queued
// and sent with the next load or COMMIT. So a command that loads once takes three round
// trips: one to begin, one to load, and one to write and commit.
//
// Writes can be queued because the core needs no answer to them: ids are drawn ahead,
// protected rows are locked first, and a violated constraint fails the transaction
// whenever it is reported.
type Tx struct {
	// Now is the transaction's start by the database clock. Server is the start time
	// for the server process. The first load sets both.
	Now, Server time.Time
	// LockTimeout limits each row wait, in PostgreSQL's format; the first load applies
	// it. If it is empty, the transaction waits as long as its caller.
	LockTimeout string

	conn *pgxpool.Conn
	db   *DB
	// queued holds the unsent statements.
	queued []statement
	// place is the right to write, or nil.
	place *admission.Place
	// wrote reports whether an unqueued statement has written.
	wrote bool
	// givenUp reports whether COMMIT is in doubt.
	givenUp bool
	// answered reports whether the server has answered a round trip.
	answered bool
	// flushed reports whether writes were sent before COMMIT, after a savepoint.
	flushed bool
	// released reports whether the connection is back in the pool, so that another
	// transaction may use it.
	released bool
}

// Work is what a transaction runs before it commits. It may run again in another one.
type Work func(ctx context.Context, t *Tx) error

type statement struct {
	sql  string
	args []any
}

// Look runs fn in a new transaction without a writer place; see [DB.Read]. Its outcome
// can be unknown, because a failover may lose the rows that fn found.
func (db *DB) Look(ctx context.Context, fn Work) error {
	err := db.Run(ctx, nil, MaxRuns, fn)
	if errors.Is(err, ErrNoPlace) {
		return db.write(ctx, fn)
	}
	return err
}

// Read runs fn in a new transaction without a writer place. If fn has written to the
// audit log, COMMIT needs a place: if none is free, the transaction is rolled back and
// runs again as a writer. The caller can repeat a read, so its outcome is never
// unknown: at worst there are two audit entries.
func (db *DB) Read(ctx context.Context, fn Work) error {
	return WithoutDoubt(db.Look(ctx, begin(fn)))
}

// WithoutDoubt converts an unknown outcome to unavailable, for a transaction that its
// caller can repeat.
func WithoutDoubt(err error) error {
	if errors.Is(err, core.ErrOutcomeUnknown) {
		return fmt.Errorf("%w: %s", core.ErrUnavailable, err.Error())
	}
	return err
}

// begin reads the time before fn runs. If every connection was opened to a writable
// server, it refuses a standby; otherwise a standby serves reads.
func begin(fn Work) Work {
	return func(ctx context.Context, t *Tx) error {
		standby, err := t.LoadFirst(ctx)
		if err == nil {
			err = t.RefuseStandby(standby && t.db.servers.primaryOnly)
		}
		if err != nil {
			return err
		}
		return fn(ctx, t)
	}
}

// LoadFirst is the first load in a transaction that claims no key. It also reads the
// time and the server's identity.
func (t *Tx) LoadFirst(ctx context.Context, reads ...Read) (standby bool, err error) {
	var begun dbsqlc.NowRow
	now := Into(&begun, (*dbsqlc.Queries).Now, t.LockTimeout)
	err = t.Load(ctx, append([]Read{now}, reads...)...)
	t.Now, t.Server = begun.Now.UTC(), begun.ServerStarted
	return begun.Standby, err
}

// Run runs fn in a new transaction and commits it. It needs a place to write. After a
// lost race (see lostRace) it rolls back and starts over, up to runs times, with a
// random pause so that two transactions do not collide again. It retries once if the
// connection was dead before the transaction began, or if the server rejected writes.
// Nothing else is retried, least of all a commit whose outcome is unknown. If a row is
// held for longer than the place allows, it fails with ErrRowHeld.
func (db *DB) Run(ctx context.Context, place *admission.Place, runs int, fn Work) error {
	t := Tx{place: place, LockTimeout: lockTimeoutAt(place)}
	acquire, run := db.pool.Acquire, 1
	defer func() { db.Observe.TransactionEnded(run) }()
	for ; ; run++ {
		err := db.attempt(ctx, acquire, t, fn)
		race := lostRace(err)
		switch {
		case err == nil:
			place.Committed()
			return nil
		case t.LockTimeout != "" && stateOf(err) == lockNotAvailable:
			db.Observe.TransactionRestarted(lockTimeout)
			return fmt.Errorf("%w: %w", ErrRowHeld, err)
		case run == 1 && errors.Is(err, errDeadConnection):
			db.Observe.TransactionRestarted(deadConnection)
			acquire = db.acquireAlive
			continue
		case run == 1 && stateOf(err) == readOnlyTransaction: // the pool reconnects
			db.Observe.TransactionRestarted(readOnlyServer)
			continue
		case race == "" || runs == 1:
			return err
		case run == runs:
			return fmt.Errorf("%w: %d attempts: %w", core.ErrUnavailable, run, err)
		}
		db.Observe.TransactionRestarted(race)
		if err := pause(ctx, rand.N(time.Duration(run)*maxPause)); err != nil {
			return err
		}
	}
}

// attempt runs fn in a new transaction and commits it.
func (db *DB) attempt(
	ctx context.Context, acquire func(context.Context) (*pgxpool.Conn, error), like Tx, fn Work,
) (err error) {
	conn, err := acquire(ctx)
	if err != nil {
		return noConnection(err)
	}
	t := &like
	t.conn, t.db, t.queued = conn, db, slices.Clone(db.begin)
	defer func() {
		if errors.Is(err, ErrNothingToCommit) {
			err = nil
			go t.rollback(ctx) // the result is known: the caller need not wait
			return
		}
		t.rollback(ctx) // also when fn panics
	}()
	if err := fn(ctx, t); err != nil {
		return err
	}
	return t.commit(ctx)
}

var (
	// errDeadConnection reports that the connection broke before the server's first
	// answer, usually while idle in the pool, or that its server is a standby now.
	// Nothing was written.
	errDeadConnection = errors.New("dead connection")
	// ErrReleased reports use after the transaction has ended.
	ErrReleased = errors.New("the transaction has ended")
	// ErrNoPlace reports that a read transaction has written and no writer place is
	// free.
	ErrNoPlace = errors.New("too many transactions write")
	// ErrNothingToCommit ends a transaction successfully without a commit. Transactions
	// that only read return it to save the round trip.
	ErrNothingToCommit = errors.New("nothing to commit")
)

// Read runs one generated query and keeps its result.
type Read func(ctx context.Context, q *dbsqlc.Queries) error

// Into returns a read that stores a query's result.
func Into[P, R any](result *R, query func(*dbsqlc.Queries, context.Context, P) (R, error), params P) Read {
	return func(ctx context.Context, q *dbsqlc.Queries) (err error) {
		*result, err = query(q, ctx, params)
		return err
	}
}

// ReadRows returns a read that passes a query's rows to keep.
func ReadRows[P, R any](
	query func(*dbsqlc.Queries, context.Context, P) ([]R, error), params P, keep func(R) error,
) Read {
	return func(ctx context.Context, q *dbsqlc.Queries) error {
		rows, err := query(q, ctx, params)
		for _, row := range rows {
			if err == nil {
				err = keep(row)
			}
		}
		return err
	}
}

// Load sends the queued writes and the reads in one round trip. It calls each read
// twice: first to record its query in the batch, then to deliver the result. So a read
// must only run one query and keep its result.
func (t *Tx) Load(ctx context.Context, reads ...Read) error {
	if t.released {
		return ErrReleased
	}
	batch := t.flush(t.begun() && !t.flushed)
	for _, r := range reads {
		if err := r(ctx, dbsqlc.New(recorder{batch})); !errors.Is(err, errRecorded) {
			return fmt.Errorf("a read recorded no query: %w", err)
		}
	}
	results := t.conn.SendBatch(ctx, batch)
	err := skipResults(results, batch.Len()-len(reads))
	for _, r := range reads {
		if err == nil {
			err = r(ctx, dbsqlc.New(player{results}))
		}
	}
	err = Unavailable(closeResults(results, err))
	if !t.answered && ctx.Err() == nil && t.conn.Conn().IsClosed() && errors.Is(err, core.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errDeadConnection, err)
	}
	t.answered = true
	return err
}

// ReadOnce sends reads in one round trip, outside a transaction.
func (db *DB) ReadOnce(ctx context.Context, reads ...Read) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return noConnection(err)
	}
	defer conn.Release()
	return (&Tx{conn: conn, db: db}).Load(ctx, reads...)
}

// flush moves the queued statements into a batch. The first writes sent before COMMIT
// follow a savepoint, so that Discard can undo them.
func (t *Tx) flush(savepoint bool) *pgx.Batch {
	batch := &pgx.Batch{}
	if savepoint && len(t.queued) > 0 {
		batch.Queue("savepoint command")
		t.flushed = true
	}
	for _, s := range t.queued {
		batch.Queue(s.sql, s.args...)
	}
	t.queued = nil
	return batch
}

// begun reports whether the connection is inside a transaction.
func (t *Tx) begun() bool { return t.conn.Conn().PgConn().TxStatus() != 'I' }

// Conn returns the connection, for statements whose result is needed at once.
func (t *Tx) Conn() *pgxpool.Conn { return t.conn }

// Discard undoes all writes and leaves the transaction usable: after a refused command,
// only its response may be committed.
func (t *Tx) Discard() {
	t.queued = nil
	if t.flushed {
		t.queued = append(t.queued, statement{sql: "rollback to savepoint command"})
	}
}

// AwaitReplication ends a transaction that only read what others wrote. It skips
// COMMIT, unless replication is synchronous: then it waits for the standby as those
// writes did, so that it never returns rows that a failover loses.
func (t *Tx) AwaitReplication(ctx context.Context, synchronous bool) error {
	if !synchronous {
		return ErrNothingToCommit
	}
	return t.Writes().AwaitReplication(ctx)
}

// rollback rolls back a transaction that did not commit, and returns its connection to
// the pool. If the rollback fails, the pool closes the connection, and the server rolls
// back.
func (t *Tx) rollback(ctx context.Context) {
	t.released = true
	if t.givenUp {
		return // awaitAnswer releases the connection
	}
	defer t.conn.Release()
	if t.conn.Conn().IsClosed() || !t.begun() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "rollback")
}

// pause sleeps for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return Unavailable(ctx.Err())
	}
}
