// Package records stores idempotency records: it claims keys, looks them up and stores
// responses.
package records

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"example.com/orders/internal/adapters/out/postgres/admission"
	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/kit/guard"
)

// Claim is the result for one key that a transaction tried to lock.
type Claim struct {
	// Locked reports whether the transaction holds the key.
	Locked bool
	// Stored is the key's record, or nil. It is replayed unless it is Expired.
	Stored  *guard.Record
	Expired bool
}

// Claims holds a transaction's claims in key order.
type Claims struct {
	Keys []Claim
	// Synchronous reports whether COMMIT waits for a standby.
	Synchronous bool
}

// Take tries to lock keys and looks them up, as a transaction's first load. The lookup
// is a separate statement: its snapshot is younger than the locks, so it sees
// everything their last holders committed.
func Take(ctx context.Context, t *pgtx.Tx, ids []guard.ID) (Claims, error) {
	var locked []dbsqlc.ClaimKeysRow
	var stored []dbsqlc.FindRecordsRow
	locks := make([]int64, len(ids))
	for i, id := range ids {
		locks[i] = LockID(id)
	}
	claim := pgtx.Into(&locked, (*dbsqlc.Queries).ClaimKeys, dbsqlc.ClaimKeysParams{Ids: locks, LockTimeout: t.LockTimeout})
	err := t.Load(ctx, claim, find(ids, &stored))
	if err != nil {
		return Claims{}, err
	}
	begun := locked[0]
	t.Now, t.Server = begun.Now.UTC(), begun.ServerStarted
	c := Claims{Keys: make([]Claim, len(ids)), Synchronous: begun.Synchronous}
	for i := range ids {
		c.Keys[i].Locked = locked[i].Locked
	}
	for i := range stored {
		rec := recordOf(&stored[i])
		for k, id := range ids {
			if id == rec.ID {
				c.Keys[k].Stored, c.Keys[k].Expired = &rec, stored[i].Expired
			}
		}
	}
	return c, t.RefuseStandby(begun.Standby)
}

// Stored is what keys hold, as far as no lock and no transaction are needed to know it.
type Stored struct {
	Records []guard.Record
	// Now is the database clock. Server is the server process's start time.
	Now, Server time.Time
}

// FindStored reads the records that can be replayed at once, in one round trip. It finds
// none where COMMIT waits for a standby, because their replays have to wait as well, and
// none on a standby.
func FindStored(ctx context.Context, db *pgtx.DB, ids []guard.ID) (Stored, error) {
	var begun dbsqlc.NowRow
	var rows []dbsqlc.FindRecordsRow
	err := db.ReadOnce(ctx, pgtx.Into(&begun, (*dbsqlc.Queries).Now, ""), find(ids, &rows))
	if err != nil || begun.Synchronous || begun.Standby {
		return Stored{}, err
	}
	s := Stored{Now: begun.Now, Server: begun.ServerStarted}
	for i := range rows {
		if !rows[i].Expired {
			s.Records = append(s.Records, recordOf(&rows[i]))
		}
	}
	return s, nil
}

// awaitKey is how long a command waits to get its key back: longer than a duplicate in
// a lane waits for the same row.
const awaitKey = 2 * admission.MaxLockTimeout

// Await makes the transaction wait up to awaitKey for a key's lock. A rolled back
// command lost its key. Without the wait, it and a duplicate trying the key could each
// take the other for the first request.
func Await(ctx context.Context, t *pgtx.Tx, id guard.ID) error {
	return errors.Join(
		t.Queue("set local lock_timeout = '"+awaitKey.String()+"'", nil),
		t.Writes().AwaitKey(ctx, LockID(id)),
		t.Queue("set local lock_timeout to default", nil)) // until the first load sets it
}

// Lookup returns a key's record. While another transaction holds the key and there is
// no record, it returns ErrInProgress. A command whose COMMIT waits for the standby
// still holds its key. The lock is released after the record becomes visible, so the
// second statement finds it.
//
// The answer that no record exists also waits for the standby, because an isolated
// primary does not know the promoted standby's commits. Without a record, Lookup
// returns absent.
func Lookup(ctx context.Context, db *pgtx.DB, id guard.ID, absent error) (rec guard.Record, found bool, err error) {
	err = db.Look(ctx, func(ctx context.Context, t *pgtx.Tx) error {
		var key dbsqlc.LookAtKeyRow
		var stored []dbsqlc.FindRecordsRow
		err := t.Load(ctx, pgtx.Into(&key, (*dbsqlc.Queries).LookAtKey, LockID(id)), find([]guard.ID{id}, &stored))
		if err == nil {
			err = t.RefuseStandby(key.Standby)
		}
		if err != nil {
			return err
		}
		t.Server = key.ServerStarted
		found = len(stored) > 0 && !stored[0].Expired
		switch {
		case !found && key.Held:
			return guard.ErrInProgress
		case !found && absent != nil:
			return absent
		case found:
			rec = recordOf(&stored[0])
		}
		return t.AwaitReplication(ctx, key.Synchronous)
	})
	if err != nil {
		return guard.Record{}, false, fmt.Errorf("look up an idempotency key: %w", err)
	}
	return rec, found, nil
}

// find reads records by key.
func find(ids []guard.ID, rows *[]dbsqlc.FindRecordsRow) pgtx.Read {
	var p dbsqlc.FindRecordsParams
	for _, id := range ids {
		p.Scopes, p.Keys = append(p.Scopes, string(id.Scope)), append(p.Keys, id.Key)
	}
	return pgtx.Into(rows, (*dbsqlc.Queries).FindRecords, p)
}

// MakeRoom deletes a key's expired record, so that a new one can be stored.
func MakeRoom(ctx context.Context, t *pgtx.Tx, id guard.ID) error {
	return t.Writes().DeleteExpiredRecord(ctx, dbsqlc.DeleteExpiredRecordParams{Scope: string(id.Scope), Key: id.Key})
}

// Store queues records for insertion. They share one creation time.
func Store(ctx context.Context, t *pgtx.Tx, recs []guard.Record) error {
	if len(recs) == 1 { // saves 45 µs; see pgtx.WriteOneOrMany
		rec := recs[0]
		return t.Writes().InsertRecord(ctx, dbsqlc.InsertRecordParams{
			Scope: string(rec.Scope), Key: rec.Key,
			Fingerprint: []byte(rec.Fingerprint), Operation: rec.Operation,
			Status: int16(rec.Status), ContentType: rec.ContentType, Location: rec.Location, Body: notNull(rec.Body),
			CreatedAt: rec.CreatedAt, ExpiresAt: rec.ExpiresAt, ReplayedFor: replayedFor(rec),
		})
	}
	p := dbsqlc.InsertRecordsParams{CreatedAt: recs[0].CreatedAt}
	for _, rec := range recs {
		p.Scopes, p.Keys = append(p.Scopes, string(rec.Scope)), append(p.Keys, rec.Key)
		p.Fingerprints, p.Operations = append(p.Fingerprints, []byte(rec.Fingerprint)), append(p.Operations, rec.Operation)
		p.Statuses, p.ContentTypes = append(p.Statuses, int16(rec.Status)), append(p.ContentTypes, rec.ContentType)
		p.Locations, p.Bodies = append(p.Locations, rec.Location), append(p.Bodies, notNull(rec.Body))
		p.ExpiresAt, p.ReplayedFor = append(p.ExpiresAt, rec.ExpiresAt), append(p.ReplayedFor, replayedFor(rec))
	}
	return t.Writes().InsertRecords(ctx, p)
}

// notNull returns an empty slice for nil: a response without a body is not NULL.
func notNull(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}

func recordOf(row *dbsqlc.FindRecordsRow) guard.Record {
	replayedUntil := row.ExpiresAt
	if row.ReplayedFor != nil {
		replayedUntil = row.CreatedAt.Add(*row.ReplayedFor)
	}
	return guard.Record{
		Claim: guard.Claim{
			ID:        guard.ID{Scope: guard.Scope(row.Scope), Key: row.Key},
			Operation: row.Operation, Fingerprint: guard.Fingerprint(row.Fingerprint),
		},
		Response: guard.Response{
			Status: int(row.Status), ContentType: row.ContentType, Location: row.Location, Body: row.Body,
		},
		CreatedAt: row.CreatedAt.UTC(), ReplayedUntil: replayedUntil.UTC(), ExpiresAt: row.ExpiresAt.UTC(),
		Spent: row.Spent,
	}
}

// replayedFor returns a record's replay duration; zero means until the record expires.
func replayedFor(rec guard.Record) time.Duration {
	if rec.ReplayedUntil.Equal(rec.ExpiresAt) {
		return 0
	}
	return rec.ReplayedUntil.Sub(rec.CreatedAt)
}

// LockID returns a key's advisory lock id. If two keys collide, one waits for the
// other; nothing worse happens.
func LockID(id guard.ID) int64 {
	sum := sha256.Sum256([]byte(string(id.Scope) + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// CreatorLock returns the advisory lock for a customer and an actor. In the global
// order it comes after the key and before everything else. Only CreateOrder takes it,
// before any row lock, so it cannot deadlock. It cannot collide with key locks:
// PostgreSQL keeps advisory locks on two integers apart from those on one.
func CreatorLock(customer, actor string) (first, second int32) {
	sum := sha256.Sum256([]byte(customer + "\x00" + actor))
	return int32(binary.BigEndian.Uint32(sum[0:])), int32(binary.BigEndian.Uint32(sum[4:]))
}
