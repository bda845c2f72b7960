package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"example.com/orders/kit/guard"
)

// sqlStore implements [guard.Store] on database/sql, with any PostgreSQL driver. A service
// has one of the two stores.
type sqlStore struct{ db *sql.DB }

type sqlTxKey struct{}

// sqlTxOf returns the command transaction. A write by the sql.DB would not be exactly once, and
// database/sql may send it twice.
func sqlTxOf(ctx context.Context) *sql.Tx { return ctx.Value(sqlTxKey{}).(*sql.Tx) } //nolint:forcetypeassert // see txOf

// Execute is like [store.Execute].
func (s sqlStore) Execute(ctx context.Context, c guard.Claim, run guard.Command) (rec guard.Record, replayed bool, err error) {
	for range maxRuns {
		rec, replayed, err = s.executeOnce(ctx, c, run)
		if !lostRace(err) {
			break
		}
	}
	return rec, replayed, err
}

func (s sqlStore) executeOnce(ctx context.Context, c guard.Claim, run guard.Command) (rec guard.Record, replayed bool, err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return rec, false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after COMMIT it has no effect
	var claimed bool
	var now time.Time
	if err := tx.QueryRowContext(ctx, claimKey, lockID(c.ID)).Scan(&claimed, &now); err != nil {
		return rec, false, fmt.Errorf("claim the key: %w", err)
	}
	rec, err = scanRecord(tx.QueryRowContext(ctx, findRecord, c.Scope, c.Key), c.ID)
	switch {
	case err == nil:
		return rec, true, nil
	case !errors.Is(err, sql.ErrNoRows):
		return rec, false, err
	case !claimed:
		return rec, false, guard.ErrInProgress
	}
	if _, err := tx.ExecContext(ctx, "SAVEPOINT command"); err != nil {
		return rec, false, fmt.Errorf("set a savepoint: %w", err)
	}
	result, err := run(context.WithValue(ctx, sqlTxKey{}, tx))
	if err == nil && result.Refused { // a refusal drops the writes of the command
		_, err = tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT command")
	}
	if err != nil {
		return rec, false, err
	}
	rec = result.Record(c, now)
	if _, err := tx.ExecContext(ctx, deleteExpiredRecord, rec.Scope, rec.Key); err != nil {
		return rec, false, fmt.Errorf("delete the expired record: %w", err)
	}
	if _, err := tx.ExecContext(ctx, insertRecord, recordValues(rec)...); err != nil {
		return rec, false, fmt.Errorf("store the record: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return rec, false, fmt.Errorf("%w: %s", errOutcomeUnknown, err.Error()) // hides the cause from Execute
	}
	return rec, false, nil
}
