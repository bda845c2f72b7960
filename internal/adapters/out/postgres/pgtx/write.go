package pgtx

import (
	"context"
	"errors"
	"strconv"

	"example.com/orders/internal/adapters/out/postgres/admission"
)

// ErrRowHeld reports that a transaction reached its lock timeout and was rolled back.
var ErrRowHeld = errors.New("a row is held for long")

// Write runs fn in a new transaction that may write; see [DB.Run]. [DB.Read] is for
// transactions that only read.
func (db *DB) Write(ctx context.Context, fn Work) error {
	return db.write(ctx, begin(fn))
}

// write waits for a place before it acquires a connection. If a row is held for long,
// the transaction may have to wait until it may wait for the row.
func (db *DB) write(ctx context.Context, fn Work) error {
	err := db.runOutside(ctx, false, fn)
	if errors.Is(err, ErrRowHeld) {
		return db.runOutside(ctx, true, fn)
	}
	return err
}

// runOutside is [DB.Run] outside the lanes.
func (db *DB) runOutside(ctx context.Context, rowHeld bool, fn Work) error {
	place, err := db.Places.Outside(ctx, "", rowHeld)
	if err != nil {
		return err
	}
	defer place.Leave()
	return db.Run(ctx, place, MaxRuns, fn)
}

// WriteOnce runs fn, which writes, in a new transaction, for jobs and the relay. They
// run periodically, so it does not retry.
func (db *DB) WriteOnce(ctx context.Context, fn Work) error {
	place, err := db.Places.Job(ctx)
	if err != nil {
		return err
	}
	defer place.Leave()
	return db.attempt(ctx, db.pool.Acquire, Tx{place: place, wrote: true}, fn)
}

// ExecOnce is [DB.WriteOnce] for statements in one round trip.
func (db *DB) ExecOnce(ctx context.Context, writes ...Read) error {
	return db.WriteOnce(ctx, func(ctx context.Context, t *Tx) error {
		_, err := t.LoadFirst(ctx, writes...)
		return err
	})
}

// lockTimeoutAt returns the lock timeout of transactions at a place, in PostgreSQL's
// format.
func lockTimeoutAt(place *admission.Place) string {
	if place == nil || place.LockTimeout == 0 {
		return ""
	}
	return strconv.FormatInt(place.LockTimeout.Milliseconds(), 10) + "ms"
}
