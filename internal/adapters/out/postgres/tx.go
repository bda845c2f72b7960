package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// maxRuns bounds how often a transaction that lost a race is run again.
const maxRuns = 5

// maxPause bounds the random pause before the second run.
const maxPause = 5 * time.Millisecond

// rollbackTimeout bounds a rollback. It does not depend on the caller's context, which
// is often over by then.
const rollbackTimeout = 5 * time.Second

// tx is one transaction on one connection. It saves round trips in two ways: BEGIN is
// sent together with the first load, and writes are queued until the next load or
// COMMIT and sent together with it. A command that loads once therefore takes one round
// trip to begin, one to load, and one to write and commit.
//
// Queued writes are possible because the core needs no answer to a write: ids are drawn
// ahead, rows that a rule protects are locked first, and a violated constraint fails the
// transaction whenever it is reported.
type tx struct {
	conn *pgxpool.Conn
	db   *DB
	// now is when the transaction began, by the clock of the database.
	now time.Time
	// lockTimeout is the value of the setting in this transaction.
	lockTimeout string
	// queued holds the statements that have not been sent.
	queued []statement
	// server is when the server process was started.
	server time.Time
	// place is that among the writers, nil without one.
	place *writerPlace
	// wrote reports that a statement has written that was not queued.
	wrote bool
	// givenUp reports that COMMIT was not answered in time and may still be.
	givenUp bool
	// answered reports that the server has answered a round trip.
	answered bool
	// flushed reports that writes were sent before COMMIT, after a savepoint.
	flushed bool
	// member is the command that the transaction is bound to, and group its group. They are
	// nil for a command that runs alone.
	member *member
	group  *group
	// released reports that the connection is back in the pool. Another transaction may
	// use it, so this one must not.
	released bool
}

type statement struct {
	sql  string
	args []any
}

// txKey is the key of the context value that carries the transaction of the guard, so
// that the InTx of a use case joins it.
type txKey struct{}

// inTx runs fn in the transaction of ctx, or in a new one if ctx has none.
func (db *DB) inTx(ctx context.Context, fn func(context.Context, *tx) error) error {
	if t, ok := ctx.Value(txKey{}).(*tx); ok {
		return fn(ctx, t)
	}
	return db.transact(ctx, begin(fn))
}

// read is inTx without a place among the writers. If fn has written, to the audit log,
// the transaction must not wait for COMMIT without a place: where none is free, it is
// rolled back and run again as a writer. The outcome of a read is never unknown to its
// caller, who can repeat it: at worst there are two audit entries.
func (db *DB) read(ctx context.Context, fn func(context.Context, *tx) error) error {
	if t, ok := ctx.Value(txKey{}).(*tx); ok {
		return fn(ctx, t)
	}
	return withoutDoubt(db.look(ctx, begin(fn)))
}

// withoutDoubt returns the error of a transaction that its caller can repeat.
func withoutDoubt(err error) error {
	if errors.Is(err, core.ErrOutcomeUnknown) {
		return fmt.Errorf("%w: %s", core.ErrUnavailable, err.Error())
	}
	return err
}

// look runs fn in a new transaction that needs no place among the writers; see read. Its
// outcome can be unknown: what it found may be lost in a failover.
func (db *DB) look(ctx context.Context, fn func(context.Context, *tx) error) error {
	err := db.repeat(ctx, fn)
	if errors.Is(err, errNoPlace) {
		return db.transact(ctx, fn)
	}
	return err
}

// begin reads the time before fn runs. Where every connection was opened to a server that
// accepts writes, it refuses a standby; elsewhere, a standby serves reads.
func begin(fn func(context.Context, *tx) error) func(context.Context, *tx) error {
	return func(ctx context.Context, t *tx) error {
		standby, err := t.loadFirst(ctx)
		if err == nil {
			err = t.refuseStandby(standby && t.db.servers.primaryOnly)
		}
		if err != nil {
			return err
		}
		return fn(ctx, t)
	}
}

// loadFirst is the first load of a transaction that claims no key. It also reads the time and
// which server it is.
func (t *tx) loadFirst(ctx context.Context, reads ...read) (standby bool, err error) {
	var begun dbsqlc.NowRow
	now := func(q *dbsqlc.Queries) (err error) { begun, err = q.Now(ctx); return err }
	err = t.load(ctx, append([]read{now}, reads...)...)
	t.now, t.server = begun.Now.UTC(), begun.ServerStarted
	return begun.Standby, err
}

// transact runs fn in a new transaction that may write, and commits it. It waits for a
// place among the writers that belong to no group before it takes a connection.
func (db *DB) transact(ctx context.Context, fn func(context.Context, *tx) error) error {
	if db.doubts.many() {
		return errInDoubt
	}
	run := func(patient bool) error {
		if err := db.alone.Acquire(ctx, 1); err != nil {
			return unavailable(fmt.Errorf("wait for other commands: %w", err))
		}
		defer db.alone.Release(1)
		return db.transactAlone(ctx, patient, fn)
	}
	err := run(false)
	if errors.Is(err, errRowHeld) {
		return db.patiently(ctx, run)
	}
	return err
}

// patiently runs a transaction that may wait for a row as long as its caller does. So many
// may as one principal may have places. The next one waits without a connection until one
// of them has ended.
func (db *DB) patiently(ctx context.Context, run func(patient bool) error) error {
	if err := db.patient.Acquire(ctx, 1); err != nil {
		return unavailable(fmt.Errorf("wait for a locked row: %w", err))
	}
	defer db.patient.Release(1)
	return run(true)
}

// transactAlone is transact for a caller that has a place among those that belong to no
// group. The places of groups are left to them: transactions that wait for a row can take
// all others. Not even these: if enough transactions may be waiting, the next one fails with
// errRowHeld when it has waited for a row as long as a group does, unless it is patient.
//
// A COMMIT can take long: when a synchronous standby is gone, all of them do. The bound of
// writers leaves connections to those who only read.
func (db *DB) transactAlone(ctx context.Context, patient bool, fn func(context.Context, *tx) error) error {
	place, err := db.enterWriters(ctx)
	if err != nil {
		return err
	}
	defer place.leave()
	if !patient && db.patient.TryAcquire(1) {
		patient = true
		defer db.patient.Release(1)
	}
	err = db.repeat(ctx, func(ctx context.Context, t *tx) error {
		t.place = place
		if !patient {
			t.limitLocks(db.keys.pace.lockTimeout())
		}
		return fn(ctx, t)
	})
	if !patient && stateOf(err) == lockNotAvailable {
		db.observe.TransactionRestarted(lockTimeout)
		return fmt.Errorf("%w: %w", errRowHeld, err)
	}
	return err
}

// limitLocks bounds how long the transaction waits for a lock.
func (t *tx) limitLocks(timeout string) {
	t.lockTimeout = "'" + timeout + "'"
	t.queued = append(t.queued, statement{sql: "set local lock_timeout to " + t.lockTimeout})
}

// writeOnce runs a statement that writes in a transaction, for jobs and the relay. They come
// again, so it is not repeated.
func (db *DB) writeOnce(ctx context.Context, write read) error {
	return db.transactUnrepeated(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.loadFirst(ctx, write)
		return err
	})
}

// transactUnrepeated runs fn, which writes, in a new transaction.
func (db *DB) transactUnrepeated(ctx context.Context, fn func(context.Context, *tx) error) error {
	place, err := db.enterWriters(ctx)
	if err != nil {
		return err
	}
	defer place.leave()
	return db.transactOnce(ctx, db.pool.Acquire, func(ctx context.Context, t *tx) error {
		t.place, t.wrote = place, true
		return fn(ctx, t)
	})
}

// repeat runs fn in a new transaction and commits it. A transaction that lost a race
// (see lostRace) is rolled back and run again from the beginning, up to maxRuns times,
// after a random pause so that two of them do not meet again. A transaction whose
// connection was dead before it began is run once more, and so is one that the server
// refused because it accepts no writes. Nothing else is repeated: above all not a commit
// whose outcome is unknown.
func (db *DB) repeat(ctx context.Context, fn func(context.Context, *tx) error) error {
	acquire := db.pool.Acquire
	run := 1
	defer func() { db.observe.TransactionEnded(run) }()
	for ; ; run++ {
		err := db.transactOnce(ctx, acquire, fn)
		race := lostRace(err)
		switch {
		case run == 1 && errors.Is(err, errDeadConnection):
			db.observe.TransactionRestarted(deadConnection)
			acquire = db.acquireAlive
			continue
		case run == 1 && stateOf(err) == readOnlyTransaction: // the pool connects again
			db.observe.TransactionRestarted(readOnlyServer)
			continue
		case race == "":
			return err
		case run == maxRuns:
			return fmt.Errorf("%w: %d attempts: %w", core.ErrUnavailable, run, err)
		}
		db.observe.TransactionRestarted(race)
		if err := pause(ctx, rand.N(time.Duration(run)*maxPause)); err != nil {
			return err
		}
	}
}

func (db *DB) transactOnce(
	ctx context.Context, acquire func(context.Context) (*pgxpool.Conn, error), fn func(context.Context, *tx) error,
) (err error) {
	conn, err := acquire(ctx)
	if err != nil {
		return unavailable(err)
	}
	t := &tx{conn: conn, db: db, lockTimeout: "default", queued: slices.Clone(db.begin)}
	defer func() {
		if errors.Is(err, errNothingToCommit) {
			err = nil
			go t.rollback(ctx) // the result is known: the caller need not wait
			return
		}
		t.rollback(ctx) // also when fn panics
	}()
	if err := fn(context.WithValue(ctx, txKey{}, t), t); err != nil {
		return err
	}
	return t.commit(ctx)
}

// errDeadConnection reports that the connection broke before the server had answered
// anything, usually while it was idle in the pool, or that its server is a standby now.
// Nothing was written.
var errDeadConnection = errors.New("dead connection")

// errRowHeld reports that a transaction has waited in vain for a row. It has been rolled
// back.
var errRowHeld = errors.New("a row is held for long")

// errReleased is the error of work on a transaction that has ended.
var errReleased = errors.New("the transaction has ended")

// errNoPlace reports that a transaction that was to read has written, and there is no
// place among the writers.
var errNoPlace = errors.New("too many transactions write")

// errNothingToCommit makes transact succeed without a commit. A transaction that only
// read returns it to save the round trip.
var errNothingToCommit = errors.New("nothing to commit")

// read runs one generated query and takes its result.
type read func(q *dbsqlc.Queries) error

// load sends the queued writes and the reads in one round trip. Each read is called
// twice: the first time its query is recorded in the batch, the second time it receives
// the result. So a read must do nothing but run one query and keep its result.
func (t *tx) load(ctx context.Context, reads ...read) error {
	switch {
	case t.released:
		return errReleased
	case t.member != nil:
		return errNotJoined
	}
	batch := t.flush(t.begun() && !t.flushed)
	for _, r := range reads {
		if err := r(dbsqlc.New(recorder{batch})); !errors.Is(err, errRecorded) {
			return fmt.Errorf("a read recorded no query: %w", err)
		}
	}
	results := t.conn.SendBatch(ctx, batch)
	err := skipResults(results, batch.Len()-len(reads))
	for _, r := range reads {
		if err == nil {
			err = r(dbsqlc.New(player{results}))
		}
	}
	err = unavailable(closeResults(results, err))
	if !t.answered && ctx.Err() == nil && t.conn.Conn().IsClosed() && errors.Is(err, core.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errDeadConnection, err)
	}
	t.answered = true
	return err
}

// flush moves the queued statements into a batch. The first writes that are sent before
// COMMIT follow a savepoint, so that discard can undo them.
func (t *tx) flush(savepoint bool) *pgx.Batch {
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
func (t *tx) begun() bool { return t.conn.Conn().PgConn().TxStatus() != 'I' }

// discard undoes every write of the transaction and leaves it usable. The guard calls it
// when a command was refused: only the stored response may be committed then.
func (t *tx) discard() {
	t.queued = nil
	if t.flushed {
		t.queued = append(t.queued, statement{sql: "rollback to savepoint command"})
	}
}

// rollback ends a transaction that did not commit and returns the connection to the
// pool. If the rollback fails, the pool closes the connection, and the server rolls
// back.
func (t *tx) rollback(ctx context.Context) {
	t.released = true
	if t.givenUp {
		return // whoever waits for the answer releases the connection
	}
	defer t.conn.Release()
	if t.conn.Conn().IsClosed() || !t.begun() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "rollback")
}

// pause waits for d, or until ctx is over.
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
