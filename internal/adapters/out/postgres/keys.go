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

// Keys is the store of the idempotency guard (AUTH-19).
type Keys struct {
	db     *DB
	recent recentRecords
}

// Keys gives the store of the guard.
func (db *DB) Keys() *Keys { return db.keys }

// Once claims the key, runs the command and stores its result, in one transaction;
// see [idempotency.Store].
//
// The claim is an advisory lock of the transaction, tried and never waited for, and a
// lookup after it, in one round trip. The lock lets a duplicate leave at once; the
// primary key of the record is the truth.
func (k *Keys) Once(
	ctx context.Context, r idempotency.Request, run func(context.Context) (idempotency.Result, error),
) (idempotency.Record, bool, error) {
	if rec, known := k.recent.get(r.ID); known {
		return rec, true, nil
	}
	var rec idempotency.Record
	var replayed bool
	var expires time.Time // by our clock: so far away as it is by the database's
	err := k.db.transact(ctx, func(ctx context.Context, t *tx) error {
		asked := time.Now()
		claim, err := t.claim(ctx, r.ID)
		if err != nil {
			return err
		}
		defer func() { expires = asked.Add(rec.ExpiresAt.Sub(t.now)) }()
		if claim.stored != nil && !claim.stored.Expired {
			rec, replayed = recordOf(claim.stored.IdempotencyRecord), true
			return t.settle(ctx, claim.lock.Synchronous)
		}
		if !claim.lock.Locked {
			return idempotency.ErrInProgress
		}
		rec, err = t.runOnce(ctx, r, run, claim.stored != nil)
		return err
	})
	if err == nil {
		k.recent.put(rec, time.Until(expires))
	}
	return rec, replayed, err
}

// runOnce runs the command and adds the record of its result to what it wrote.
func (t *tx) runOnce(
	ctx context.Context, r idempotency.Request, run func(context.Context) (idempotency.Result, error), expired bool,
) (idempotency.Record, error) {
	result, err := run(ctx)
	if err != nil {
		return idempotency.Record{}, err
	}
	if result.Refused {
		t.discard()
	}
	rec := idempotency.Record{
		Request: r, Response: result.Response,
		CreatedAt: t.now, ExpiresAt: t.now.Add(result.TTL),
	}
	return rec, t.keep(ctx, rec, expired)
}

// claim is what the first round trip of a guarded command learns.
type claim struct {
	lock   dbsqlc.TryLockKeyRow
	stored *dbsqlc.FindRecordRow
}

// claim tries to lock the key, and looks it up in a statement of its own: its
// snapshot is younger than the lock, so it sees whatever the last holder committed.
func (t *tx) claim(ctx context.Context, id idempotency.ID) (claim, error) {
	var c claim
	err := t.load(ctx,
		func(q *dbsqlc.Queries) (err error) {
			c.lock, err = q.TryLockKey(ctx, lockID(id))
			return err
		},
		func(q *dbsqlc.Queries) error {
			rows, err := q.FindRecord(ctx, dbsqlc.FindRecordParams{Scope: id.Principal, Key: id.Key})
			if len(rows) > 0 {
				c.stored = &rows[0]
			}
			return err
		})
	t.now = c.lock.Now.UTC()
	return c, err
}

// settle ends a replay. Nothing was written, so there is nothing to wait for, but for
// the standby of a database that replicates synchronously: without that a replay could
// tell a result that a failover then loses.
func (t *tx) settle(ctx context.Context, synchronous bool) error {
	if !synchronous {
		return errNothingToCommit
	}
	return t.writes().AwaitReplication(ctx)
}

// keep adds the record to the writes of the command.
func (t *tx) keep(ctx context.Context, rec idempotency.Record, expired bool) error {
	if expired {
		err := t.writes().DeleteExpiredRecord(ctx, dbsqlc.DeleteExpiredRecordParams{Scope: rec.Principal, Key: rec.Key})
		if err != nil {
			return err
		}
	}
	return t.writes().InsertRecord(ctx, dbsqlc.InsertRecordParams{
		Scope: rec.Principal, Key: rec.Key,
		Fingerprint: []byte(rec.Fingerprint), Operation: rec.Command,
		Status: int16(rec.Status), ContentType: rec.ContentType, Location: rec.Location, Body: notNull(rec.Body),
		CreatedAt: rec.CreatedAt, ExpiresAt: rec.ExpiresAt,
	})
}

// notNull gives an answer without a body as no bytes, which is not NULL.
func notNull(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}

// Find gives the record of a key; see [idempotency.Store].
func (k *Keys) Find(ctx context.Context, id idempotency.ID) (idempotency.Record, bool, error) {
	rows, err := dbsqlc.New(k.db.pool).FindRecord(ctx, dbsqlc.FindRecordParams{Scope: id.Principal, Key: id.Key})
	if err != nil {
		return idempotency.Record{}, false, unavailable(fmt.Errorf("find a key: %w", err))
	}
	if len(rows) == 0 || rows[0].Expired {
		return idempotency.Record{}, false, nil
	}
	return recordOf(rows[0].IdempotencyRecord), true, nil
}

// DeleteExpired removes up to limit expired records, the oldest first, and tells how
// many there were. It passes over rows that are in use.
func (k *Keys) DeleteExpired(ctx context.Context, limit int) (int, error) {
	n, err := dbsqlc.New(k.db.pool).DeleteExpiredRecords(ctx, int32(limit))
	if err != nil {
		return 0, unavailable(fmt.Errorf("delete expired keys: %w", err))
	}
	return int(n), nil
}

// lockID is the advisory lock of a key. Two keys may share one by chance; then one
// waits for the other without need, and that is all.
func lockID(id idempotency.ID) int64 {
	sum := sha256.Sum256([]byte(id.Principal + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

func recordOf(row dbsqlc.IdempotencyRecord) idempotency.Record {
	return idempotency.Record{
		Request: idempotency.Request{
			ID:          idempotency.ID{Principal: row.Scope, Key: row.Key},
			Fingerprint: idempotency.Fingerprint(row.Fingerprint), Command: row.Operation,
		},
		Response: idempotency.Response{
			Status: int(row.Status), ContentType: row.ContentType, Location: row.Location, Body: row.Body,
		},
		CreatedAt: row.CreatedAt.UTC(), ExpiresAt: row.ExpiresAt.UTC(),
	}
}
