package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
)

// store implements [guard.Store] on pgx. sqlStore does on database/sql.
type store struct{ pool *pgxpool.Pool }

type txKey struct{}

// txOf returns the command transaction. A write next to it would not be exactly once. Outside
// a command it panics. With sqlc, pass it to Queries.WithTx.
func txOf(ctx context.Context) pgx.Tx { return ctx.Value(txKey{}).(pgx.Tx) } //nolint:forcetypeassert // see above

// Execute claims the key, runs the command and stores the result in one transaction. The
// command runs again after a deadlock (40P01) or a conflict (40001). A failed COMMIT is never
// repeated, even if pgconn.SafeToRetry allows it.
func (s store) Execute(ctx context.Context, c guard.Claim, run guard.Command) (rec guard.Record, replayed bool, err error) {
	for range maxRuns {
		rec, replayed, err = s.executeOnce(ctx, c, run)
		if !lostRace(err) {
			break
		}
	}
	return rec, replayed, err
}

func (s store) executeOnce(ctx context.Context, c guard.Claim, run guard.Command) (rec guard.Record, replayed bool, err error) {
	// A stricter level than READ COMMITTED would reuse the claim's snapshot for the look-up,
	// which could miss the last holder's commit.
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return rec, false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // after COMMIT it has no effect
	var claimed bool
	var now time.Time
	if err := tx.QueryRow(ctx, claimKey, lockID(c.ID)).Scan(&claimed, &now); err != nil {
		return rec, false, fmt.Errorf("claim the key: %w", err)
	}
	// The look-up is a separate statement, so that its snapshot is younger than the claim.
	rec, found, err := find(ctx, tx, c.ID)
	if err == nil && !found && !claimed {
		err = guard.ErrInProgress
	}
	if err != nil || found {
		return rec, found, err
	}
	if _, err := tx.Exec(ctx, "SAVEPOINT command"); err != nil {
		return rec, false, fmt.Errorf("set a savepoint: %w", err)
	}
	result, err := run(context.WithValue(ctx, txKey{}, tx))
	if err == nil && result.Refused { // a refusal drops the writes of the command
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

// find returns a key record, unless it has expired.
func find(ctx context.Context, tx pgx.Tx, id guard.ID) (guard.Record, bool, error) {
	rec, err := scanRecord(tx.QueryRow(ctx, findRecord, id.Scope, id.Key), id)
	if errors.Is(err, pgx.ErrNoRows) {
		return rec, false, nil
	}
	return rec, err == nil, err
}

// insert stores a record in place of an expired one.
func insert(ctx context.Context, tx pgx.Tx, r guard.Record) error {
	if _, err := tx.Exec(ctx, deleteExpiredRecord, r.Scope, r.Key); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, insertRecord, recordValues(r)...)
	return err
}
