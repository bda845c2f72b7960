package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/idempotency"
)

//go:embed idempotency_record.sql
var recordSchema string

// errOutcomeUnknown: COMMIT failed, and may have taken effect. Only the key can tell.
var errOutcomeUnknown = errors.New("the outcome of the commit is unknown")

// store implements [idempotency.Store] on PostgreSQL.
type store struct{ pool *pgxpool.Pool }

type txKey struct{}

// txOf returns the command's transaction. A write beside it would not be exactly once. Outside
// a command it panics. With sqlc, pass it to Queries.WithTx. An ORM needs a session bound to
// it. docs/copy.md explains the traps in database/sql.
func txOf(ctx context.Context) pgx.Tx { return ctx.Value(txKey{}).(pgx.Tx) } //nolint:forcetypeassert // see above

// maxRuns bounds how often a transaction that lost a race starts again.
const maxRuns = 5

// Execute claims the key, runs the command and stores its result in one transaction. The
// command runs again after a deadlock (40P01) or a conflict (40001). A failed COMMIT is never
// repeated, even if pgconn.SafeToRetry allows it.
func (s store) Execute(ctx context.Context, c idempotency.Claim, run idempotency.Command) (rec idempotency.Record, replayed bool, err error) {
	for range maxRuns {
		rec, replayed, err = s.executeOnce(ctx, c, run)
		cause, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || cause.Code != "40P01" && cause.Code != "40001" {
			break
		}
	}
	return rec, replayed, err
}

func (s store) executeOnce(ctx context.Context, c idempotency.Claim, run idempotency.Command) (rec idempotency.Record, replayed bool, err error) {
	// A stricter level than READ COMMITTED would reuse the claim's snapshot for the look-up,
	// which could miss the last holder's commit.
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return rec, false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // after COMMIT there is nothing to roll back
	// The claim is tried and never waited for: a duplicate leaves at once and waits without a
	// connection. All times come from the database's clock.
	var claimed bool
	var now time.Time
	if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1), now()", lockID(c.ID)).Scan(&claimed, &now); err != nil {
		return rec, false, fmt.Errorf("claim the key: %w", err)
	}
	// The look-up is a separate statement, so that its snapshot is younger than the claim.
	rec, found, err := find(ctx, tx, c.ID)
	if err == nil && !found && !claimed {
		err = idempotency.ErrInProgress
	}
	if err != nil || found {
		return rec, found, err
	}
	if _, err := tx.Exec(ctx, "SAVEPOINT command"); err != nil {
		return rec, false, fmt.Errorf("set a savepoint: %w", err)
	}
	result, err := run(context.WithValue(ctx, txKey{}, tx))
	if err == nil && result.Refused { // a refusal drops the command's writes
		_, err = tx.Exec(ctx, "ROLLBACK TO SAVEPOINT command")
	}
	if err != nil {
		return rec, false, err
	}
	rec = result.Record(c, now)
	if err := insert(ctx, tx, rec); err != nil {
		return rec, false, fmt.Errorf("store the record: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return rec, false, fmt.Errorf("%w: %s", errOutcomeUnknown, err.Error()) // hides the cause from Execute
	}
	return rec, false, nil
}

// find returns a key's record, unless it has expired.
func find(ctx context.Context, tx pgx.Tx, id idempotency.ID) (idempotency.Record, bool, error) {
	rec := idempotency.Record{Claim: idempotency.Claim{ID: id}}
	var fingerprint []byte
	err := tx.QueryRow(ctx, `SELECT operation, fingerprint, status, content_type, location, body, created_at, replayed_until,
		expires_at, replayed_until < least(expires_at, clock_timestamp()) FROM idempotency_record WHERE scope = $1 AND key = $2 AND expires_at > clock_timestamp()`, id.Scope, id.Key).
		Scan(&rec.Operation, &fingerprint, &rec.Status, &rec.ContentType, &rec.Location, &rec.Body, &rec.CreatedAt, &rec.ReplayedUntil,
			&rec.ExpiresAt, &rec.Spent)
	rec.Fingerprint = idempotency.Fingerprint(fingerprint)
	if errors.Is(err, pgx.ErrNoRows) {
		return rec, false, nil
	}
	return rec, err == nil, err
}

// insert stores a record in place of an expired one.
func insert(ctx context.Context, tx pgx.Tx, r idempotency.Record) error {
	const expired = "DELETE FROM idempotency_record WHERE scope = $1 AND key = $2 AND expires_at <= clock_timestamp()"
	if _, err := tx.Exec(ctx, expired, r.Scope, r.Key); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO idempotency_record
		(scope, key, operation, fingerprint, status, content_type, location, body, created_at, replayed_until, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, r.Scope, r.Key, r.Operation, []byte(r.Fingerprint),
		r.Status, r.ContentType, r.Location, append([]byte{}, r.Body...), r.CreatedAt, r.ReplayedUntil, r.ExpiresAt)
	return err
}

// lockID returns a key's advisory lock number. All users of such locks in a database share its
// 64-bit numbers, so it is a hash. If two keys collide, one waits for the other.
func lockID(id idempotency.ID) int64 {
	sum := sha256.Sum256([]byte("idempotency_record\x00" + string(id.Scope) + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
