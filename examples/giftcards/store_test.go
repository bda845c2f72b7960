package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/guardtest"
)

// newStore returns a store on an empty schema, which has a table for effects, too.
func newStore(t *testing.T) store {
	t.Helper()
	pool := newPool(t)
	mustExec(t, pool, recordSchema+"CREATE TABLE effect ()")
	return store{pool}
}

// addEffect is a command.
func addEffect(ctx context.Context) (guard.Result, error) {
	_, err := txOf(ctx).Exec(ctx, "INSERT INTO effect DEFAULT VALUES")
	return guard.Result{Response: guard.Response{Status: 201}, TTL: time.Hour}, err
}

func countEffects(t *testing.T, pool *pgxpool.Pool) int {
	t.Helper()
	return mustCount(t, pool, "SELECT count(*) FROM effect")
}

var someClaim = guard.Claim{ID: guard.ID{Scope: "alice", Key: "key-1"}, Fingerprint: "\x01some"}

func TestStore(t *testing.T) {
	t.Parallel()
	guardtest.Run(t, func(t *testing.T) guardtest.Fixture {
		t.Helper()
		s := newStore(t)
		return guardtest.Fixture{
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

func TestExecute_RunsTheCommandAgainAfterALostRace(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"40001": maxRuns, "40P01": maxRuns, "23505": 1} {
		s, runs := newStore(t), 0
		_, _, err := s.Execute(t.Context(), someClaim, func(ctx context.Context) (guard.Result, error) {
			result, err := addEffect(ctx)
			runs++
			if runs < maxRuns {
				_, err = txOf(ctx).Exec(ctx, "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '"+code+"'; END $$")
			}
			return result, err
		})
		effects := countEffects(t, s.pool)
		if again := want > 1; runs != want || (err == nil) != again || (effects == 1) != again {
			t.Errorf("%s: %d runs, %d effects, %v; want %d runs", code, runs, effects, err, want)
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
	_, _, err := s.Execute(t.Context(), someClaim, func(ctx context.Context) (guard.Result, error) {
		runs++
		return addEffect(ctx)
	})
	if !errors.Is(err, errOutcomeUnknown) || runs != 1 {
		t.Errorf("%d runs, %v; want one run and errOutcomeUnknown", runs, err)
	}
}

func TestKeepClean_DeletesExpiredRecordsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mustExec(t, s.pool, `INSERT INTO `+table+` SELECT 'alice', i::text, 'redeem', '', 201, '', '', '', now(), now(),
		now() + CASE WHEN i <= 1001 THEN -1 ELSE 1 END * interval '1 hour' FROM generate_series(1, 1003) i`)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		s.keepClean(ctx, time.Hour)
		close(ended)
	}()
	remaining := func(which string) int {
		return mustCount(t, s.pool, "SELECT count(*) FROM "+table+" WHERE expires_at "+which+" now()")
	}
	for deadline := time.Now().Add(time.Minute); remaining("<") > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("expired records remain")
		}
	}
	stop()
	<-ended
	if live := remaining(">"); live != 2 {
		t.Errorf("%d live records remain, want 2", live)
	}
}
