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

// txOf returns the transaction that a command writes through: a write beside it would not
// be exactly once. Outside a command it panics. With sqlc, pass it to Queries.WithTx. An
// ORM needs a session bound to it. docs/lift.md says why database/sql is a trap.
func txOf(ctx context.Context) pgx.Tx { return ctx.Value(txKey{}).(pgx.Tx) } //nolint:forcetypeassert // see above

// maxRuns bounds how often a transaction that lost a race starts again.
const maxRuns = 5

// Execute claims the key, runs the command and stores its result, in one transaction. The
// command runs again if PostgreSQL ends its transaction because of a deadlock (40P01) or a
// conflict (40001). A COMMIT that failed is never repeated, whatever pgconn.SafeToRetry
// says of its error.
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
	// Under a stricter level than READ COMMITTED the look-up would use the snapshot of the
	// claim, and could miss what the last holder of the key has just committed.
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return rec, false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // after COMMIT there is nothing to roll back
	// The claim is tried and never waited for: a duplicate leaves at once, and waits without
	// a connection. Everything that compares times uses the clock of the database.
	var claimed bool
	var now time.Time
	if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1), now()", lockID(c.ID)).Scan(&claimed, &now); err != nil {
		return rec, false, fmt.Errorf("claim the key: %w", err)
	}
	// The look-up is a statement of its own, so that its snapshot is younger than the claim.
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
	if err == nil && result.Refused { // a refusal drops what the command wrote
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

// find returns the record of a key, unless it has expired.
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

// insert stores a record. The row of an expired one makes room.
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

// lockID returns the number of the advisory lock of a key. All users of such locks in a
// database share its 64-bit numbers, so it is a hash: small numbers are somebody else's. If
// two keys share one, one waits for the other, and nothing worse happens.
func lockID(id idempotency.ID) int64 {
	sum := sha256.Sum256([]byte("idempotency_record\x00" + string(id.Scope) + "\x00" + id.Key))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
