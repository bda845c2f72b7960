package pgtx

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// ErrRowHeld reports that a transaction reached its lock timeout and was rolled back.
var ErrRowHeld = errors.New("a row is held for long")

// Kind decides how long a transaction waits for rows, and what follows a lost race.
type Kind int

const (
	// Alone is a transaction outside groups. At the limit for patient transactions, it
	// fails with ErrRowHeld after the groups' lock timeout.
	Alone Kind = iota
	// Patient waits for rows until its caller gives up.
	Patient
	// InLane has a lock timeout, because other commands wait for its lane; see
	// ErrRowHeld.
	InLane
	// Shared is InLane for a group. It runs once, because the caller splits its group.
	Shared
)

// Transact runs fn in a new transaction that may write, and commits it.
func (db *DB) Transact(ctx context.Context, fn Work) error {
	return db.transactOutside(ctx, begin(fn))
}

// transactOutside waits for a place outside groups before it acquires a connection.
func (db *DB) transactOutside(ctx context.Context, fn Work) error {
	if err := db.InDoubt(); err != nil {
		return err
	}
	return db.Outside(ctx, false, func(kind Kind) error {
		leave, err := db.EnterAlone(ctx)
		if err != nil {
			return err
		}
		defer leave()
		return db.Write(ctx, kind, fn)
	})
}

// EnterAlone waits for a place outside groups. Transactions waiting for rows can take
// all these places, so the remaining writers are reserved for groups.
func (db *DB) EnterAlone(ctx context.Context) (leave func(), err error) {
	if err := db.alone.Acquire(ctx, 1); err != nil {
		return nil, Unavailable(fmt.Errorf("wait for other commands: %w", err))
	}
	return func() { db.alone.Release(1) }, nil
}

// Outside runs a transaction outside groups. If one of its rows is held for long, it may
// wait for the row until its caller gives up. The number of such transactions is limited
// to one principal's share. Beyond it, a transaction waits without a connection.
func (db *DB) Outside(ctx context.Context, rowHeld bool, run func(Kind) error) error {
	if !rowHeld {
		if err := run(Alone); !errors.Is(err, ErrRowHeld) {
			return err
		}
	}
	if err := db.patient.Acquire(ctx, 1); err != nil {
		return Unavailable(fmt.Errorf("wait for a locked row: %w", err))
	}
	defer db.patient.Release(1)
	return run(Patient)
}

// Write acquires a writer place, runs fn in a new transaction and commits it. COMMITs can
// take long, and all do when a synchronous standby is lost. The writer limit keeps
// connections free for reads.
func (db *DB) Write(ctx context.Context, kind Kind, fn Work) error {
	if kind == Alone && db.patient.TryAcquire(1) {
		kind = Patient
		defer db.patient.Release(1)
	}
	place, err := db.enterWriters(ctx)
	if err != nil {
		return err
	}
	defer place.leave()
	began := time.Now() // the wait for a place is no pace: it would raise the lock timeout
	runs, t := maxRuns, Tx{place: place}
	if kind == Shared {
		runs = 1
	}
	if kind != Patient {
		t.LockTimeout = db.lockTimeout()
	}
	err = db.repeat(ctx, runs, t, fn)
	switch {
	case kind != Patient && stateOf(err) == lockNotAvailable:
		db.Observe.TransactionRestarted(lockTimeout)
		return fmt.Errorf("%w: %w", ErrRowHeld, err)
	case err == nil && (kind == InLane || kind == Shared):
		db.RecordPace(time.Since(began))
	}
	return err
}

// WriteOnce runs a writing statement in a transaction, for jobs and the relay. They run
// periodically, so it does not retry.
func (db *DB) WriteOnce(ctx context.Context, write Read) error {
	return db.TransactOnce(ctx, func(ctx context.Context, t *Tx) error {
		_, err := t.LoadFirst(ctx, write)
		return err
	})
}

// TransactOnce runs fn, which writes, in a new transaction without retries.
func (db *DB) TransactOnce(ctx context.Context, fn Work) error {
	place, err := db.enterWriters(ctx)
	if err != nil {
		return err
	}
	defer place.leave()
	return db.transactOnce(ctx, db.pool.Acquire, Tx{place: place, wrote: true}, fn)
}

// writerPlace is the right to write. A COMMIT in doubt keeps it.
type writerPlace struct {
	writers *semaphore.Weighted
	kept    bool
}

func (p *writerPlace) leave() {
	if !p.kept {
		p.writers.Release(1)
	}
}

// enterWriters acquires a writer place, unless too many COMMITs are in doubt.
func (db *DB) enterWriters(ctx context.Context) (*writerPlace, error) {
	if err := db.InDoubt(); err != nil {
		return nil, err
	}
	if err := db.writers.Acquire(ctx, 1); err != nil {
		return nil, Unavailable(fmt.Errorf("wait for other commands: %w", err))
	}
	return &writerPlace{writers: db.writers}, nil
}

const (
	// minLockTimeout and maxLockTimeout limit row waits in lanes.
	minLockTimeout = 50 * time.Millisecond
	maxLockTimeout = time.Second
)

// pace is the average duration for recent transactions in lanes.
type pace struct{ average atomic.Int64 }

// RecordPace adds a transaction in a lane to the average. A concurrent one may be lost.
func (db *DB) RecordPace(took time.Duration) {
	before := db.pace.average.Load()
	db.pace.average.Store(before + (int64(took)-before)/8)
}

// lockTimeout returns the lock timeout: several times the average transaction in a
// lane. A row held longer must not delay a whole group. While one is, waits are likely
// to end in vain, so the timeout is short.
func (db *DB) lockTimeout() string {
	timeout := minLockTimeout
	if !db.RowHeld() {
		timeout = min(max(8*time.Duration(db.pace.average.Load()), minLockTimeout), maxLockTimeout)
	}
	return strconv.FormatInt(timeout.Milliseconds(), 10) + "ms"
}
