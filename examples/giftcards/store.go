package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/idempotency"
)

// recordSchema is the table of the guard. The transaction of a command writes its record,
// complete: there is no state "in progress" that a crash could leave behind.
const recordSchema = `
CREATE TABLE IF NOT EXISTS idempotency_record (
	scope        text        NOT NULL,
	key          text        NOT NULL,
	operation    text        NOT NULL,
	fingerprint  bytea       NOT NULL,
	status       int         NOT NULL,
	content_type text        NOT NULL,
	location     text        NOT NULL,
	body         bytea       NOT NULL,
	created_at   timestamptz NOT NULL,
	expires_at   timestamptz NOT NULL,
	PRIMARY KEY (scope, key)
);
CREATE INDEX IF NOT EXISTS idempotency_record_expiry ON idempotency_record (expires_at)`

// errOutcomeUnknown: the answer to COMMIT was lost. Only the key can tell what happened.
var errOutcomeUnknown = errors.New("the outcome of the commit is unknown")

// store implements [idempotency.Store] on PostgreSQL.
type store struct{ pool *pgxpool.Pool }

type txKey struct{}

// txOf returns the transaction that a command must use. Outside a command it panics: a
// write beside the transaction of the guard would not be exactly once.
func txOf(ctx context.Context) pgx.Tx {
	tx, ok := ctx.Value(txKey{}).(pgx.Tx)
	if !ok {
		panic("a command was called outside the guard")
	}
	return tx
}

// Execute claims the key, runs the command and stores its result in one transaction.
//
// The claim is an advisory lock that is tried and never waited for: a duplicate leaves at
// once and waits without a connection. The look-up is a statement of its own under READ
// COMMITTED, so that it sees what the last holder of the lock has committed.
func (s store) Execute(
	ctx context.Context, c idempotency.Claim, run idempotency.Command,
) (rec idempotency.Record, replayed bool, err error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return rec, false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after COMMIT there is nothing to roll back
	var locked bool
	var now time.Time
	err = tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1), now()", lockID(c.ID)).Scan(&locked, &now)
	if err != nil {
		return rec, false, fmt.Errorf("claim the key: %w", err)
	}
	rec, found, err := find(ctx, tx, c.ID)
	switch {
	case err != nil || found:
		return rec, found, err
	case !locked:
		return rec, false, idempotency.ErrInProgress
	}
	result, err := runInSavepoint(ctx, tx, run)
	if err != nil {
		return rec, false, err
	}
	rec = idempotency.Record{Claim: c, Response: result.Response, CreatedAt: now, ExpiresAt: now.Add(result.TTL)}
	if err := insert(ctx, tx, rec); err != nil {
		return rec, false, fmt.Errorf("store the record: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return rec, false, fmt.Errorf("%w: %w", errOutcomeUnknown, err)
	}
	return rec, false, nil
}

// runInSavepoint runs the command, and drops the writes of one that refused.
func runInSavepoint(ctx context.Context, tx pgx.Tx, run idempotency.Command) (idempotency.Result, error) {
	savepoint, err := tx.Begin(ctx)
	if err != nil {
		return idempotency.Result{}, fmt.Errorf("set a savepoint: %w", err)
	}
	result, err := run(context.WithValue(ctx, txKey{}, savepoint))
	if err != nil {
		return result, err
	}
	if result.Refused {
		return result, savepoint.Rollback(ctx)
	}
	return result, savepoint.Commit(ctx)
}

// Lookup returns the record of a key, or [idempotency.ErrInProgress]. It looks at the lock
// first: what its holder commits is then seen by the second statement.
func (s store) Lookup(ctx context.Context, id idempotency.ID) (idempotency.Record, bool, error) {
	var running bool
	err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_locks
		WHERE locktype = 'advisory' AND (classid::bigint << 32) | objid::bigint = $1 AND objsubid = 1
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`, lockID(id)).Scan(&running)
	if err != nil {
		return idempotency.Record{}, false, fmt.Errorf("look at the lock of the key: %w", err)
	}
	rec, found, err := find(ctx, s.pool, id)
	if err == nil && running && !found {
		err = idempotency.ErrInProgress
	}
	return rec, found, err
}

// queryer is a pool or a transaction.
type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// find returns a record that has not expired, by the clock of the database.
func find(ctx context.Context, db queryer, id idempotency.ID) (idempotency.Record, bool, error) {
	rec := idempotency.Record{Claim: idempotency.Claim{ID: id}}
	var fingerprint []byte
	err := db.QueryRow(ctx, `SELECT operation, fingerprint, status, content_type, location, body, created_at, expires_at
		FROM idempotency_record WHERE scope = $1 AND key = $2 AND expires_at > clock_timestamp()`, id.Scope, id.Key).
		Scan(&rec.Operation, &fingerprint, &rec.Status, &rec.ContentType, &rec.Location, &rec.Body, &rec.CreatedAt, &rec.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return idempotency.Record{}, false, nil
	}
	rec.Fingerprint = idempotency.Fingerprint(fingerprint)
	return rec, err == nil, err
}

// insert stores a record. The row of an expired one makes room.
func insert(ctx context.Context, tx pgx.Tx, r idempotency.Record) error {
	_, err := tx.Exec(ctx, "DELETE FROM idempotency_record WHERE scope = $1 AND key = $2 AND expires_at <= clock_timestamp()",
		r.Scope, r.Key)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO idempotency_record
		(scope, key, operation, fingerprint, status, content_type, location, body, created_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		r.Scope, r.Key, r.Operation, []byte(r.Fingerprint), r.Status, r.ContentType, r.Location,
		append([]byte{}, r.Body...), r.CreatedAt, r.ExpiresAt)
	return err
}

// DeleteExpired deletes up to limit expired records. Call it now and then.
func (s store) DeleteExpired(ctx context.Context, limit int) (int64, error) {
	tag, err := s.pool.Exec(ctx, `DELETE FROM idempotency_record WHERE ctid = ANY(ARRAY(
		SELECT ctid FROM idempotency_record WHERE expires_at <= now() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))`, limit)
	return tag.RowsAffected(), err
}

func lockID(id idempotency.ID) int64 {
	sum := sha256.Sum256([]byte(string(id.Scope) + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
