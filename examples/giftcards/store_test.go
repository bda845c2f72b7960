package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/idempotency"
	"example.com/orders/internal/idempotency/idempotencytest"
)

// newStore returns a store on an empty schema, which has a table for effects, too.
func newStore(t *testing.T) store {
	t.Helper()
	pool := newPool(t)
	mustExec(t, pool, recordSchema+"CREATE TABLE effect ()")
	return store{pool}
}

// addEffect is a command.
func addEffect(ctx context.Context) (idempotency.Result, error) {
	_, err := txOf(ctx).Exec(ctx, "INSERT INTO effect DEFAULT VALUES")
	return idempotency.Result{Response: idempotency.Response{Status: 201}, TTL: time.Hour}, err
}

func countEffects(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	return mustCount(t, pool, "SELECT count(*) FROM effect")
}

var someClaim = idempotency.Claim{ID: idempotency.ID{Scope: "alice", Key: "key-1"}, Fingerprint: "\x01some"}

func TestStore(t *testing.T) {
	t.Parallel()
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Fixture {
		t.Helper()
		s := newStore(t)
		return idempotencytest.Fixture{
			Store: s, Replica: s,
			Write: func(ctx context.Context) error {
				_, err := addEffect(ctx)
				return err
			},
			Read: func(ctx context.Context) error {
				var n int
				return txOf(ctx).QueryRow(ctx, "SELECT count(*) FROM effect").Scan(&n)
			},
			Effects: func(t *testing.T) int {
				t.Helper()
				return countEffects(t, s.pool)
			},
		}
	})
}

func TestExecute_RunsTheCommandAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	s, runs := newStore(t), 0
	_, _, err := s.Execute(t.Context(), someClaim, func(ctx context.Context) (idempotency.Result, error) {
		result, err := addEffect(ctx)
		runs++
		if runs < maxRuns {
			_, err = txOf(ctx).Exec(ctx, "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '40P01'; END $$")
		}
		return result, err
	})
	if err != nil || runs != maxRuns || countEffects(t, s.pool) != 1 {
		t.Errorf("%d runs, %d effects, %v; want %d runs and one effect", runs, countEffects(t, s.pool), err, maxRuns)
	}
}

func TestExecute_StopsRunningAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for code, want := range map[string]int{"40001": maxRuns, "40P01": maxRuns, "23505": 1} {
		runs := 0
		_, _, err := s.Execute(t.Context(), someClaim, func(ctx context.Context) (idempotency.Result, error) {
			runs++
			_, err := txOf(ctx).Exec(ctx, "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '"+code+"'; END $$")
			return idempotency.Result{}, err
		})
		if err == nil || runs != want {
			t.Errorf("%s: %d runs, %v; want %d runs and the error", code, runs, err, want)
		}
	}
}

func TestExecute_ReportsAFailedCommitAsUnknown(t *testing.T) {
	t.Parallel()
	s, runs := newStore(t), 0
	mustExec(t, s.pool, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
		'BEGIN RAISE EXCEPTION SQLSTATE ''40001''; END'`)
	mustExec(t, s.pool, `CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION fail()`)
	_, _, err := s.Execute(t.Context(), someClaim, func(ctx context.Context) (idempotency.Result, error) {
		runs++
		return addEffect(ctx)
	})
	if !errors.Is(err, errOutcomeUnknown) || runs != 1 {
		t.Errorf("%d runs, %v; want one run and errOutcomeUnknown", runs, err)
	}
}

// All users of advisory locks in a database share their numbers: whoever holds the number of
// a key looks like its first request.
func TestExecute_TakesAForeignLockForTheFirstRequest(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	err := pgx.BeginFunc(t.Context(), s.pool, func(foreign pgx.Tx) error {
		if _, err := foreign.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", lockID(someClaim.ID)); err != nil {
			return err
		}
		_, _, err := s.Execute(t.Context(), someClaim, addEffect)
		if !errors.Is(err, idempotency.ErrInProgress) {
			t.Errorf("%v, want ErrInProgress", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Execute(t.Context(), someClaim, addEffect); err != nil {
		t.Error(err)
	}
}

// The snapshot of a transaction under REPEATABLE READ is that of its first statement, so it
// misses a record that was committed after that, and would run the command a second time.
func TestFind_NeedsReadCommitted(t *testing.T) {
	t.Parallel()
	for level, sees := range map[pgx.TxIsoLevel]bool{pgx.ReadCommitted: true, pgx.RepeatableRead: false, pgx.Serializable: false} {
		s := newStore(t)
		err := pgx.BeginTxFunc(t.Context(), s.pool, pgx.TxOptions{IsoLevel: level}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "SELECT now()"); err != nil {
				return err
			}
			if _, _, err := s.Execute(t.Context(), someClaim, addEffect); err != nil {
				return err
			}
			_, found, err := find(t.Context(), tx, someClaim.ID)
			if found != sees {
				t.Errorf("%s: found = %v, want %v", level, found, sees)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeleteExpired_DeletesOnlyExpiredRecords(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mustExec(t, s.pool, `INSERT INTO idempotency_record SELECT 'alice', i::text, 'redeem', '', 201, '', '', '', now(), now(),
		now() + CASE WHEN i <= 3 THEN -1 ELSE 1 END * interval '1 hour' FROM generate_series(1, 5) i`)
	for _, want := range []int64{2, 1, 0} {
		if n, err := s.deleteExpired(t.Context(), 2); n != want || err != nil {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	if n := mustCount(t, s.pool, "SELECT count(*) FROM idempotency_record"); n != 2 {
		t.Errorf("%d records remain, want 2", n)
	}
}

func TestKeepClean_DeletesUntilItIsStopped(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mustExec(t, s.pool, `INSERT INTO idempotency_record SELECT 'alice', i::text, 'redeem', '', 201, '', '', '', now(), now(),
		now() - interval '1 hour' FROM generate_series(1, 1001) i`)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.keepClean(ctx, time.Hour)
		close(ended)
	}()
	for deadline := time.Now().Add(time.Minute); mustCount(t, s.pool, "SELECT count(*) FROM idempotency_record") > 0; {
		if time.Now().After(deadline) {
			t.Fatal("expired records remain")
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop()
	<-ended
}

func TestTxOf_PanicsOutsideACommand(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a write outside the transaction of the guard was possible")
		}
	}()
	t.Errorf("got the transaction %v", txOf(context.Background()))
}
