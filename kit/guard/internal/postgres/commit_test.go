package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgtest"
)

// Even a COMMIT that fails with a lost race is not repeated, because others may have
// failed after they took effect.
func TestExecute_ReportsAFailedCommitAsUnknown(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		testdb.Exec(t, pool, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
				'BEGIN RAISE EXCEPTION SQLSTATE ''40001''; END';
			CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION fail()`)
		runs := 0
		_, _, err := d.open(t, pool).Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
			runs++
			return created, d.addEffect(ctx)
		})
		if !errors.Is(err, guard.ErrOutcomeUnknown) || runs != 1 {
			t.Errorf("%d runs, %v; want one run and ErrOutcomeUnknown", runs, err)
		}
	})
}

// A caller who saw the end of the context as well could take it for a rollback.
func TestExecute_HidesTheCauseOfAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		testdb.Exec(t, pool, `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
				'BEGIN PERFORM pg_advisory_xact_lock(0, 0); RETURN NULL; END';
			CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON effect DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW EXECUTE FUNCTION wait()`)
		hold := pgtest.Hold(pool, "SELECT pg_advisory_xact_lock(0, 0)")(t)
		s := d.open(t, pool)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		ended := make(chan error)
		go func() {
			_, _, err := s.Execute(ctx, claim, func(ctx context.Context) (guard.Result, error) {
				return created, d.addEffect(ctx)
			})
			ended <- err
		}()
		hold.Await()

		leave()

		if err := <-ended; !errors.Is(err, guard.ErrOutcomeUnknown) || errors.Is(err, context.Canceled) {
			t.Errorf("%v; want ErrOutcomeUnknown alone", err)
		}
	})
}

// The server skips a COMMIT behind a record that it refuses.
func TestExecute_ReportsARefusedRecordAsItIs(t *testing.T) {
	t.Parallel()
	for protocol, mode := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
				pgtest.Break(pool, "idempotency_record")(t)
				cfg := pool.Config()
				cfg.ConnConfig.DefaultQueryExecMode = mode
				_, _, err := d.open(t, testdb.Open(t, cfg)).Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
					return created, d.addEffect(ctx)
				})
				cause, _ := errors.AsType[*pgconn.PgError](err)
				if cause == nil || cause.Code != "23514" || errors.Is(err, guard.ErrOutcomeUnknown) {
					t.Errorf("%v; want the violated constraint", err)
				}
				if n := testdb.Count(t, pool, "SELECT count(*) FROM effect"); n != 0 {
					t.Errorf("%d effects, want none", n)
				}
			})
		})
	}
}

// A record may lose a race as well.
func TestExecute_RunsTheCommandAgainAfterALostRaceOfTheRecord(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		testdb.Exec(t, pool, `CREATE SEQUENCE attempt; CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
				'BEGIN IF nextval(''attempt'') < 3 THEN RAISE EXCEPTION SQLSTATE ''40P01''; END IF; RETURN new; END';
			CREATE TRIGGER lose BEFORE INSERT ON idempotency_record FOR EACH ROW EXECUTE FUNCTION lose()`)
		runs := 0
		_, _, err := d.open(t, pool).Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
			runs++
			return created, d.addEffect(ctx)
		})
		if n := testdb.Count(t, pool, "SELECT count(*) FROM effect"); err != nil || runs != 3 || n != 1 {
			t.Errorf("%d runs, %d effects, %v; want 3 runs and one effect", runs, n, err)
		}
	})
}

// A record waits, and the connection ends. Once a record is sent with pgx, COMMIT is on
// the way.
func TestExecute_SaysWhetherALostRecordMayHaveCommitted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepared bool // the connection has stored a record before
		crash    bool // of the server process, or else the caller leaves
	}{
		"a crash": {prepared: true, crash: true}, "a caller who leaves": {prepared: true}, "a crash while it is prepared": {crash: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
				cfg := pool.Config()
				cfg.MaxConns = 1
				s := d.open(t, testdb.Open(t, cfg))
				addEffect := func(ctx context.Context) (guard.Result, error) { return created, d.addEffect(ctx) }
				if test.prepared {
					earlier := guard.Claim{ID: guard.ID{Scope: claim.Scope, Key: "key-0"}}
					if _, _, err := s.Execute(t.Context(), earlier, addEffect); err != nil {
						t.Fatal(err)
					}
				}
				hold := pgtest.Hold(pool, "LOCK TABLE idempotency_record IN SHARE MODE")(t)
				ctx, leave := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() {
					_, _, err := s.Execute(ctx, claim, addEffect)
					ended <- err
				}()
				hold.Await()
				if test.crash {
					hold.Crash()
				} else {
					leave()
				}
				err := <-ended
				leave()
				if unknown := d.together && test.prepared; err == nil || errors.Is(err, guard.ErrOutcomeUnknown) != unknown {
					t.Errorf("%v; want an unknown outcome: %v", err, unknown)
				}
			})
		})
	}
}

func TestExecute_CommitsNothingForACallerWhoHasLeft(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		ctx, leave := context.WithCancel(t.Context())
		_, _, err := d.open(t, pool).Execute(ctx, claim, func(ctx context.Context) (guard.Result, error) {
			defer leave()
			return created, d.addEffect(ctx)
		})
		if !errors.Is(err, context.Canceled) || errors.Is(err, guard.ErrOutcomeUnknown) {
			t.Errorf("%v; want the end of the context", err)
		}
	})
}
