package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/idempotency"
	"example.com/orders/internal/tracing"
)

// Keys implements [idempotency.LookupStore]: it is the half of AUTH-19 that speaks SQL.
//
// One transaction claims the key, runs the command, and stores its response. It has three
// round trips, whatever the command does:
//
//  1. BEGIN, the claim and the look-up. The claim is an advisory lock that is tried and
//     never waited for, so that a duplicate learns at once that it is second and releases
//     its connection.
//  2. The reads and row locks of the command.
//  3. The writes of the command, the record, and COMMIT.
//
// The primary key of idempotency_record decides if two transactions should ever claim one
// key. A crash at any moment leaves nothing to clean up: the server releases the lock and
// rolls back.
//
// Commands that have to wait anyway share a transaction; see lanes and group.
type Keys struct {
	db       *DB
	recent   *recentRecords
	inFlight keysInFlight
	shares   shares
	lanes    *lanes // nil if every command runs alone
	held     heldRows
	breaker  breaker
	pace     pace
	replays  replays
	unsuited unsuited
	observe  GroupObserver
}

func newKeys(db *DB, cfg Config, recent *recentRecords) *Keys {
	k := &Keys{db: db, recent: recent, shares: shares{size: int64(db.share)}, observe: cfg.Observe}
	if k.observe == nil {
		k.observe = ignored{}
	}
	if cfg.Lanes > 0 {
		k.lanes = &lanes{free: cfg.Lanes, lead: k.lead}
	}
	return k
}

// Keys returns the store of the guard.
func (db *DB) Keys() *Keys { return db.keys }

// Execute claims the key, runs the command and stores its result; see
// [idempotency.Store].
//
// A command that finds a lane free runs alone and at once. If all lanes are taken, it
// waits and joins a group. A key that this process is working on is in progress: nothing
// about it need be asked of the database, and no group has it twice.
func (k *Keys) Execute(
	ctx context.Context, c idempotency.Claim, run idempotency.Command,
) (idempotency.Record, bool, error) {
	rec, replayed, generation := k.recent.get(c.ID)
	if replayed {
		return rec, true, nil
	}
	if k.db.doubts.many() {
		return k.lookup(ctx, c.ID, errInDoubt) // duplicates are still answered
	}
	if !k.inFlight.enter(c.ID) {
		return idempotency.Record{}, false, idempotency.ErrInProgress
	}
	defer k.inFlight.leave(c.ID)
	a := attempt{claim: c, run: run, generation: generation}
	if !k.joins(c.Operation) {
		return k.alone(ctx, a)
	}
	m := &member{attempt: a, queued: time.Now(), settled: make(chan struct{})}
	m.ctx, m.span = tracing.Start(ctx, "group member", trace.SpanKindInternal) // sent only if it ends
	if l := k.lanes.enter(m); l != nil {
		if place, ok := k.placeToRunAlone(c.Scope); ok {
			defer l.leave()
			rec, replayed, err := k.executeAt(ctx, place, a, false)
			if errors.Is(err, errRowHeld) {
				a.hadKey, a.rowHeld = true, true
				return k.alone(ctx, a)
			}
			return rec, replayed, err
		}
		go k.lead(l, []*member{m}) // groups have connections of their own
	}
	m.wait()
	m.span.End()
	if m.fate.alone {
		defer k.held.remove(m.fate.held)
		return k.alone(ctx, m.attempt)
	}
	return m.fate.rec, m.fate.replayed, m.fate.err
}

// attempt is a command with its key, on its way to a transaction.
type attempt struct {
	claim      idempotency.Claim
	run        idempotency.Command
	generation uint64 // of the recent records, when the command arrived
	// hadKey reports that the command had its key in a transaction that was rolled back.
	hadKey bool
	// rowHeld reports that the command wants a row that is held for long.
	rowHeld bool
}

// joins reports whether commands of an operation may share a transaction now.
func (k *Keys) joins(operation string) bool {
	return k.lanes != nil && !k.unsuited.has(operation) && !k.breaker.isOpen()
}

// executeAlone claims the key and runs the command in a transaction of its own.
func (k *Keys) executeAlone(
	ctx context.Context, a attempt, patient bool,
) (rec idempotency.Record, replayed bool, err error) {
	var replayedUntil time.Time // on the local clock; the remaining time is the database's
	err = k.db.transactAlone(ctx, patient, func(ctx context.Context, t *tx) error {
		started := time.Now()
		locked, stored, err := t.claimKey(ctx, a.claim.ID, a.hadKey)
		if err != nil {
			return err
		}
		k.recent.verify(locked.ServerStarted, started)
		k.replays.record(stored != nil && !stored.Expired)
		defer func() { replayedUntil = started.Add(rec.ReplayedUntil.Sub(t.now)) }()
		if stored != nil && !stored.Expired {
			rec, replayed = recordOf(stored.IdempotencyRecord, stored.Spent), true
			return t.endReplay(ctx, locked.Synchronous)
		}
		if !locked.Locked {
			return idempotency.ErrInProgress
		}
		rec, err = t.runCommand(ctx, a)
		if err != nil {
			return err
		}
		return t.storeRecord(ctx, rec, stored != nil)
	})
	if err == nil {
		k.recent.put(rec, time.Until(replayedUntil), a.generation)
	}
	if err == nil && !replayed {
		k.db.observe.RecordsStored(1)
	}
	return rec, replayed, err
}

// awaitKey lets the claim wait for the lock of a key, for a second at most. A command that
// had the key lost it when its transaction was rolled back. Without the wait, it would take
// any duplicate that tries the key for the first request, and that one this one.
func (t *tx) awaitKey(ctx context.Context, id idempotency.ID) error {
	t.queued = append(t.queued, statement{sql: "set local lock_timeout = '1s'"})
	err := t.writes().AwaitKey(ctx, lockID(id))
	t.queued = append(t.queued, statement{sql: "set local lock_timeout to " + t.lockTimeout})
	return err
}

// claimKey tries to lock a key and looks it up. The look-up is a statement of its own: its
// snapshot is younger than the lock, so it sees what the last holder has committed.
//
// A command that had the key waits for it; see awaitKey.
func (t *tx) claimKey(ctx context.Context, id idempotency.ID, hadKey bool) (dbsqlc.TryLockKeyRow, *dbsqlc.FindRecordRow, error) {
	var locked dbsqlc.TryLockKeyRow
	var stored *dbsqlc.FindRecordRow
	if hadKey {
		if err := t.awaitKey(ctx, id); err != nil {
			return locked, stored, err
		}
	}
	err := t.load(ctx,
		func(q *dbsqlc.Queries) (err error) {
			locked, err = q.TryLockKey(ctx, lockID(id))
			return err
		},
		findRecord(ctx, id, &stored))
	t.now, t.server = locked.Now.UTC(), locked.ServerStarted
	if hadKey && stateOf(err) == lockNotAvailable {
		err = idempotency.ErrInProgress
	}
	if err == nil {
		err = t.refuseStandby(locked.Standby)
	}
	return locked, stored, err
}

// runCommand runs the command, and returns the record of its result. The writes of a
// command that refused are dropped.
func (t *tx) runCommand(ctx context.Context, a attempt) (idempotency.Record, error) {
	result, err := a.run(ctx)
	if err != nil {
		return idempotency.Record{}, err
	}
	if result.Refused {
		t.discard()
	}
	return result.Record(a.claim, t.now), nil
}

// endReplay ends the transaction of a replay or a look-up. It has written nothing, so it
// need not wait for COMMIT, unless the database replicates synchronously: then it waits for
// the standby as the first response did, so that it never reports what a failover loses.
func (t *tx) endReplay(ctx context.Context, synchronous bool) error {
	if !synchronous {
		return errNothingToCommit
	}
	return t.writes().AwaitReplication(ctx)
}

// Lookup returns the record of a key; see [idempotency.LookupStore]. A command whose COMMIT waits
// for the standby still holds its key. Its lock is released after its record is visible, so
// that the second statement finds what the holder committed.
//
// A command that waits in this process counts as running: it may have no lock yet.
//
// That there is no record waits for the standby, too. A primary that was cut off does not
// know of what the promoted standby has committed since.
func (k *Keys) Lookup(ctx context.Context, id idempotency.ID) (rec idempotency.Record, found bool, err error) {
	working := k.inFlight.has(id)
	rec, found, err = k.lookup(ctx, id, nil)
	if err == nil && !found && working {
		return idempotency.Record{}, false, fmt.Errorf("look up an idempotency key: %w", idempotency.ErrInProgress)
	}
	return rec, found, err
}

// lookup is [Keys.Lookup] without regard to this process. Without a record, it returns absent.
func (k *Keys) lookup(ctx context.Context, id idempotency.ID, absent error) (rec idempotency.Record, found bool, err error) {
	err = k.db.look(ctx, func(ctx context.Context, t *tx) error {
		var key dbsqlc.LookAtKeyRow
		var stored *dbsqlc.FindRecordRow
		err := t.load(ctx,
			func(q *dbsqlc.Queries) (err error) {
				key, err = q.LookAtKey(ctx, lockID(id))
				return err
			},
			findRecord(ctx, id, &stored))
		if err == nil {
			err = t.refuseStandby(key.Standby)
		}
		if err != nil {
			return err
		}
		t.server = key.ServerStarted
		found = stored != nil && !stored.Expired
		switch {
		case !found && key.Held:
			return idempotency.ErrInProgress
		case !found && absent != nil:
			return absent
		case found:
			rec = recordOf(stored.IdempotencyRecord, stored.Spent)
		}
		return t.endReplay(ctx, key.Synchronous)
	})
	if err != nil {
		return idempotency.Record{}, false, fmt.Errorf("look up an idempotency key: %w", err)
	}
	return rec, found, nil
}

// DeleteExpired deletes up to limit expired records, the oldest first, and returns how
// many it deleted. It skips rows that another transaction has locked.
func (k *Keys) DeleteExpired(ctx context.Context, limit int) (int, error) {
	var n int64
	err := k.db.writeOnce(ctx, func(q *dbsqlc.Queries) (err error) {
		n, err = q.DeleteExpiredRecords(ctx, int32(limit))
		return err
	})
	return int(n), failed("delete expired idempotency records", err)
}

// lockID returns the advisory lock of a key. If two keys share one by chance, one waits
// for the other without need; nothing worse happens.
func lockID(id idempotency.ID) int64 {
	sum := sha256.Sum256([]byte(string(id.Scope) + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
