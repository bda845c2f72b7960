package postgres

import (
	"context"
	"time"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/idempotency"
)

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

// storeRecord adds the record to the writes of the command. An expired record of the same
// key makes room.
func (t *tx) storeRecord(ctx context.Context, rec idempotency.Record, replace bool) error {
	if replace {
		if err := t.deleteExpired(ctx, rec.ID); err != nil {
			return err
		}
	}
	return t.insertRecord(ctx, rec)
}

// deleteExpired lets an expired record make room for the new one of its key.
func (t *tx) deleteExpired(ctx context.Context, id idempotency.ID) error {
	return t.writes().DeleteExpiredRecord(ctx, dbsqlc.DeleteExpiredRecordParams{Scope: string(id.Scope), Key: id.Key})
}

// insertRecord adds the record to the writes of the command.
func (t *tx) insertRecord(ctx context.Context, rec idempotency.Record) error {
	return t.writes().InsertRecord(ctx, dbsqlc.InsertRecordParams{
		Scope: string(rec.Scope), Key: rec.Key,
		Fingerprint: []byte(rec.Fingerprint), Operation: rec.Operation,
		Status: int16(rec.Status), ContentType: rec.ContentType, Location: rec.Location, Body: notNull(rec.Body),
		CreatedAt: rec.CreatedAt, ExpiresAt: rec.ExpiresAt, ReplayedFor: replayedFor(rec),
	})
}

// notNull returns an empty slice for nil: a response without a body is not NULL.
func notNull(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}

func recordOf(row dbsqlc.IdempotencyRecord, spent bool) idempotency.Record {
	replayedUntil := row.ExpiresAt
	if row.ReplayedFor != nil {
		replayedUntil = row.CreatedAt.Add(*row.ReplayedFor)
	}
	return idempotency.Record{
		Claim: idempotency.Claim{
			ID:        idempotency.ID{Scope: idempotency.Scope(row.Scope), Key: row.Key},
			Operation: row.Operation, Fingerprint: idempotency.Fingerprint(row.Fingerprint),
		},
		Response: idempotency.Response{
			Status: int(row.Status), ContentType: row.ContentType, Location: row.Location, Body: row.Body,
		},
		CreatedAt: row.CreatedAt.UTC(), ReplayedUntil: replayedUntil.UTC(), ExpiresAt: row.ExpiresAt.UTC(),
		Spent: spent,
	}
}

func storedRecord(row *dbsqlc.FindRecordsRow) idempotency.Record {
	return recordOf(dbsqlc.IdempotencyRecord{
		Scope: row.Scope, Key: row.Key, Fingerprint: row.Fingerprint, Operation: row.Operation,
		Status: row.Status, ContentType: row.ContentType, Location: row.Location, Body: row.Body,
		CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, ReplayedFor: row.ReplayedFor,
	}, row.Spent)
}

// replayedFor returns how long the response of a record is replayed, zero for as long as the
// record is kept.
func replayedFor(rec idempotency.Record) time.Duration {
	if rec.ReplayedUntil.Equal(rec.ExpiresAt) {
		return 0
	}
	return rec.ReplayedUntil.Sub(rec.CreatedAt)
}
