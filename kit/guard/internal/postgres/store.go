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
	Begin(ctx context.Context) (Tx, error)
}

// Tx is a transaction.
type Tx interface {
	// In returns a context that carries the transaction to a command.
	In(ctx context.Context) context.Context
	// Send executes statements in order. Each is a separate statement, which sees what
	// was committed before it began.
	Send(ctx context.Context, statements ...*Statement) error
	Commit(ctx context.Context) error
	// Rollback has no effect after a commit.
	Rollback(ctx context.Context) error
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
	}
)

// complete returns the record with its fingerprint.
func (f *found) complete() guard.Record {
	f.record.Fingerprint = guard.Fingerprint(f.fingerprint)
	return f.record
}

// Execute claims the key, runs the command and stores the result in one transaction. A
// transaction that loses a race begins again. A failed COMMIT is never repeated,
// whatever the driver says about it.
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
	tx, err := s.DB.Begin(ctx)
	if err != nil {
		return rec, false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // a transaction that cannot be rolled back is not committed
	rec, replayed, err = s.claim(ctx, tx, c)
	if err != nil || replayed {
		return rec, replayed, err
	}
	result, err := run(tx.In(ctx))
	if err == nil && result.Refused {
		err = tx.Send(ctx, &Statement{SQL: "ROLLBACK TO SAVEPOINT idempotency_command"})
	}
	if err != nil {
		return rec, false, err
	}
	rec = result.Record(c, rec.CreatedAt)
	record := s.Table.save(rec)
	if err := tx.Send(ctx, record); err != nil {
		return rec, false, fmt.Errorf("store the record: %w", err)
	}
	if record.Affected != 1 {
		return rec, false, errors.New("store the record: there is one, although its key was locked")
	}
	if err := tx.Commit(ctx); err != nil {
		return rec, false, fmt.Errorf("%w: %s", guard.ErrOutcomeUnknown, err.Error()) // hides the cause from Execute
	}
	return rec, false, nil
}

// claim returns the record of the key, or claims the key. Then the record has the time
// of the claim only.
func (s *Store) claim(ctx context.Context, tx Tx, c guard.Claim) (guard.Record, bool, error) {
	var claim claimed
	var stored found
	// The look-up is a separate statement behind the claim, so that it sees what the last
	// owner of the lock has committed.
	look := s.Table.find(c.ID, &stored)
	if err := tx.Send(ctx, s.Table.claim(c.ID, &claim), look, &Statement{SQL: "SAVEPOINT idempotency_command"}); err != nil {
		return guard.Record{}, false, fmt.Errorf("claim the key: %w", err)
	}
	switch {
	case claim.isolation != readCommitted:
		return guard.Record{}, false, errIsolation(claim.isolation)
	case !look.NoRow:
		return stored.complete(), true, s.confirm(ctx, tx)
	case !claim.locked:
		return guard.Record{}, false, guard.ErrInProgress
	}
	return guard.Record{CreatedAt: claim.now}, false, nil
}

// Lookup returns the record of a key, or [guard.ErrInProgress] while a transaction
// holds the key and there is none.
func (s *Store) Lookup(ctx context.Context, id guard.ID) (guard.Record, bool, error) {
	tx, err := s.DB.Begin(ctx)
	if err != nil {
		return guard.Record{}, false, fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it has only read
	var held bool
	var stored found
	// First the lock and then the record, so that no transaction that ends meanwhile is
	// missed.
	look := s.Table.find(id, &stored)
	if err := tx.Send(ctx, s.Table.held(id, &held), look); err != nil {
		return guard.Record{}, false, fmt.Errorf("look the key up: %w", err)
	}
	switch {
	case !look.NoRow:
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
	if err := tx.Send(ctx, &Statement{SQL: "SELECT pg_logical_emit_message(true, '', '')"}); err != nil {
		return fmt.Errorf("confirm the record: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("confirm the record: %w: %s", guard.ErrOutcomeUnknown, err.Error())
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
