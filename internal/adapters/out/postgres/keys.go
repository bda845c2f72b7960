package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/idempotency"
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
type Keys struct {
	db     *DB
	recent *recentRecords
}

// Keys returns the store of the guard.
func (db *DB) Keys() *Keys { return db.keys }

// Execute claims the key, runs the command and stores its result; see
// [idempotency.Store].
func (k *Keys) Execute(
	ctx context.Context, c idempotency.Claim, run idempotency.Command,
) (idempotency.Record, bool, error) {
	rec, replayed, generation := k.recent.get(c.ID)
	if replayed {
		return rec, true, nil
	}
	var expires time.Time // on the local clock; the remaining lifetime is the database's
	err := k.db.transact(ctx, func(ctx context.Context, t *tx) error {
		started := time.Now()
		locked, stored, err := t.claimKey(ctx, c.ID)
		if err != nil {
			return err
		}
		k.recent.verify(locked.ServerStarted, started)
		defer func() { expires = started.Add(rec.ExpiresAt.Sub(t.now)) }()
		if stored != nil && !stored.Expired {
			rec, replayed = recordOf(stored.IdempotencyRecord), true
			return t.endReplay(ctx, locked.Synchronous)
		}
		if !locked.Locked {
			return idempotency.ErrInProgress
		}
		rec, err = t.runCommand(ctx, c, run)
		if err != nil {
			return err
		}
		return t.insertRecord(ctx, rec, stored != nil)
	})
	if err == nil {
		k.recent.put(rec, time.Until(expires), generation)
	}
	return rec, replayed, err
}

// claimKey tries to lock a key and looks it up. The look-up is a statement of its own: its
// snapshot is younger than the lock, so it sees what the last holder has committed.
func (t *tx) claimKey(ctx context.Context, id idempotency.ID) (dbsqlc.TryLockKeyRow, *dbsqlc.FindRecordRow, error) {
	var locked dbsqlc.TryLockKeyRow
	var stored *dbsqlc.FindRecordRow
	err := t.load(ctx,
		func(q *dbsqlc.Queries) (err error) {
			locked, err = q.TryLockKey(ctx, lockID(id))
			return err
		},
		findRecord(ctx, id, &stored))
	t.now = locked.Now.UTC()
	return locked, stored, err
}

// findRecord sets stored to the record of a key, or to nil.
func findRecord(ctx context.Context, id idempotency.ID, stored **dbsqlc.FindRecordRow) read {
	return func(q *dbsqlc.Queries) error {
		rows, err := q.FindRecord(ctx, dbsqlc.FindRecordParams{Scope: string(id.Scope), Key: id.Key})
		*stored = nil
		if len(rows) > 0 {
			*stored = &rows[0]
		}
		return err
	}
}

// runCommand runs the command, and returns the record of its result. The writes of a
// command that refused are dropped.
func (t *tx) runCommand(ctx context.Context, c idempotency.Claim, run idempotency.Command) (idempotency.Record, error) {
	result, err := run(ctx)
	if err != nil {
		return idempotency.Record{}, err
	}
	if result.Refused {
		t.discard()
	}
	return idempotency.Record{
		Claim: c, Response: result.Response,
		CreatedAt: t.now, ExpiresAt: t.now.Add(result.TTL),
	}, nil
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

// insertRecord adds the record to the writes of the command. An expired record of the same
// key makes room.
func (t *tx) insertRecord(ctx context.Context, rec idempotency.Record, replace bool) error {
	if replace {
		err := t.writes().DeleteExpiredRecord(ctx, dbsqlc.DeleteExpiredRecordParams{Scope: string(rec.Scope), Key: rec.Key})
		if err != nil {
			return err
		}
	}
	return t.writes().InsertRecord(ctx, dbsqlc.InsertRecordParams{
		Scope: string(rec.Scope), Key: rec.Key,
		Fingerprint: []byte(rec.Fingerprint), Operation: rec.Operation,
		Status: int16(rec.Status), ContentType: rec.ContentType, Location: rec.Location, Body: notNull(rec.Body),
		CreatedAt: rec.CreatedAt, ExpiresAt: rec.ExpiresAt,
	})
}

// notNull returns an empty slice for nil: a response without a body is not NULL.
func notNull(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}

// Lookup returns the record of a key; see [idempotency.LookupStore]. A command whose COMMIT waits
// for the standby still holds its key. Its lock is released after its record is visible, so
// that the second statement finds what the holder committed.
func (k *Keys) Lookup(ctx context.Context, id idempotency.ID) (rec idempotency.Record, found bool, err error) {
	err = k.db.transact(ctx, func(ctx context.Context, t *tx) error {
		var key dbsqlc.LookAtKeyRow
		var stored *dbsqlc.FindRecordRow
		err := t.load(ctx,
			func(q *dbsqlc.Queries) (err error) {
				key, err = q.LookAtKey(ctx, lockID(id))
				return err
			},
			findRecord(ctx, id, &stored))
		if err != nil {
			return err
		}
		found = stored != nil && !stored.Expired
		switch {
		case found:
			rec = recordOf(stored.IdempotencyRecord)
			return t.endReplay(ctx, key.Synchronous)
		case key.Held:
			return idempotency.ErrInProgress
		}
		return errNothingToCommit
	})
	if err != nil {
		return idempotency.Record{}, false, fmt.Errorf("look up an idempotency key: %w", err)
	}
	return rec, found, nil
}

// DeleteExpired deletes up to limit expired records, the oldest first, and returns how
// many it deleted. It skips rows that another transaction has locked.
func (k *Keys) DeleteExpired(ctx context.Context, limit int) (int, error) {
	n, err := dbsqlc.New(k.db.pool).DeleteExpiredRecords(ctx, int32(limit))
	if err != nil {
		return 0, unavailable(fmt.Errorf("delete expired idempotency records: %w", err))
	}
	return int(n), nil
}

// lockID returns the advisory lock of a key. If two keys share one by chance, one waits
// for the other without need; nothing worse happens.
func lockID(id idempotency.ID) int64 {
	sum := sha256.Sum256([]byte(string(id.Scope) + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

func recordOf(row dbsqlc.IdempotencyRecord) idempotency.Record {
	return idempotency.Record{
		Claim: idempotency.Claim{
			ID:        idempotency.ID{Scope: idempotency.Scope(row.Scope), Key: row.Key},
			Operation: row.Operation, Fingerprint: idempotency.Fingerprint(row.Fingerprint),
		},
		Response: idempotency.Response{
			Status: int(row.Status), ContentType: row.ContentType, Location: row.Location, Body: row.Body,
		},
		CreatedAt: row.CreatedAt.UTC(), ExpiresAt: row.ExpiresAt.UTC(),
	}
}
