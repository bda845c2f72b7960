package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/orders/kit/guard"
)

// DB opens transactions.
type DB interface {
	// Begin opens a transaction and executes statements in order. Each is a separate
	// statement, which sees what was committed before it began. After an error, there is
	// no transaction.
	Begin(ctx context.Context, statements ...*Statement) (Tx, error)
}

// Tx is a transaction.
type Tx interface {
	// In returns a context that carries the transaction to a command.
	In(ctx context.Context) context.Context
	// Commit executes statements, ignores the results, and commits unless one fails. The
	// error is that of [Unknown] if the transaction may have committed.
	Commit(ctx context.Context, statements ...*Statement) error
	// Rollback has no effect after a commit.
	Rollback(ctx context.Context) error
}

// Unknown returns [guard.ErrOutcomeUnknown] with the text of the cause. The cause is
// hidden from Execute: a COMMIT that may have taken effect is never repeated.
func Unknown(cause error) error {
	return fmt.Errorf("%w: %s", guard.ErrOutcomeUnknown, cause.Error())
}

// Store implements [guard.LookupStore].
type Store struct {
	DB    DB
	Table Table
	// Confirm lets a replay wait for synchronous standbys.
	Confirm bool
}

// maxRuns bounds how often a transaction that lost a race begins again.
const maxRuns = 5

// claimed is the state of a claim, and found a record with the bytes of its
// fingerprint.
type (
	claimed struct {
		locked    bool
		now       time.Time
		isolation string
	}
	found struct {
		record      guard.Record
		fingerprint []byte
		expired     bool
	}
)

// complete returns the record with its fingerprint.
func (f *found) complete() guard.Record {
	f.record.Fingerprint = guard.Fingerprint(f.fingerprint)
	return f.record
}

// Execute claims the key, runs the command and stores the result in one transaction. A
// transaction that loses a race begins again.
func (s *Store) Execute(ctx context.Context, c guard.Claim, run guard.Command) (rec guard.Record, replayed bool, err error) {
	for range maxRuns {
		rec, replayed, err = s.executeOnce(ctx, c, run)
		if !lostRace(err) {
			break
		}
	}
	return rec, replayed, err
}

func (s *Store) executeOnce(ctx context.Context, c guard.Claim, run guard.Command) (rec guard.Record, replayed bool, err error) {
	var claim claimed
	var stored found
	// The look-up is a separate statement behind the claim, so that it sees what the last
	// owner of the lock has committed.
	look := s.Table.find(c.ID, &stored)
	tx, err := s.DB.Begin(ctx, s.Table.claim(c.ID, &claim), look, &Statement{SQL: "SAVEPOINT idempotency_command"})
	if err != nil {
		return rec, false, fmt.Errorf("claim the key: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // a transaction that cannot be rolled back is not committed
	switch {
	case claim.isolation != readCommitted:
		return rec, false, errIsolation(claim.isolation)
	case !look.NoRow && !stored.expired:
		return stored.complete(), true, s.confirm(ctx, tx)
	case !claim.locked:
		return rec, false, guard.ErrInProgress
	}
	result, err := run(tx.In(ctx))
	if err != nil {
		return rec, false, err
	}
	var last []*Statement
	if result.Refused {
		last = append(last, &Statement{SQL: "ROLLBACK TO SAVEPOINT idempotency_command"})
	}
	if stored.expired {
		last = append(last, s.Table.deleteIfExpired(c.ID))
	}
	rec = result.Record(c, claim.now)
	if err := tx.Commit(ctx, append(last, s.Table.insert(rec))...); err != nil {
		return rec, false, fmt.Errorf("store the record: %w", err)
	}
	return rec, false, nil
}

// Lookup returns the record of a key, or [guard.ErrInProgress] while a transaction
// holds the key and there is none.
func (s *Store) Lookup(ctx context.Context, id guard.ID) (guard.Record, bool, error) {
	var held bool
	var stored found
	// First the lock and then the record, so that no transaction that ends meanwhile is
	// missed.
	look := s.Table.find(id, &stored)
	tx, err := s.DB.Begin(ctx, s.Table.held(id, &held), look)
	if err != nil {
		return guard.Record{}, false, fmt.Errorf("look the key up: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it has only read
	switch {
	case !look.NoRow && !stored.expired:
		return stored.complete(), true, nil
	case held:
		return guard.Record{}, false, guard.ErrInProgress
	}
	return guard.Record{}, false, nil
}

const readCommitted = "read committed"

// errIsolation: a stricter level would look the key up in the snapshot of the claim,
// which misses what the last owner of the lock has committed.
func errIsolation(level string) error {
	return fmt.Errorf("the transaction is %s: the guard needs READ COMMITTED; look for default_transaction_isolation "+
		"in the settings of the pool, the role and the database", level)
}

// confirm waits until the commit of a record has reached the synchronous standbys. The
// first request may have been cut off while it waited.
func (s *Store) confirm(ctx context.Context, tx Tx) error {
	if !s.Confirm {
		return nil
	}
	if err := tx.Commit(ctx, &Statement{SQL: "SELECT pg_logical_emit_message(true, '', '')"}); err != nil {
		return fmt.Errorf("confirm the record: %w", err)
	}
	return nil
}

// lostRace reports a deadlock (40P01) or a conflict (40001): the transaction can begin
// again. Errors of pgx and of lib/pq have this method.
func lostRace(err error) bool {
	cause, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	return ok && (cause.SQLState() == "40P01" || cause.SQLState() == "40001")
}
