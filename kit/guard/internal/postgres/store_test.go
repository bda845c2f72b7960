package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/guardtest"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgxstore"
	"example.com/orders/kit/guard/sqlstore"
)

// store is what the stores of both drivers have in common.
type store interface {
	guard.Store
	Check(ctx context.Context) error
	Clean(ctx context.Context) (int64, error)
	KeepClean(ctx context.Context, every time.Duration)
}

// driver opens stores, and executes a statement in the transaction of a command.
type driver struct {
	open func(t *testing.T, pool *pgxpool.Pool) store
	exec func(ctx context.Context, sql string) error
	// together reports that COMMIT is sent with the record.
	together bool
}

var drivers = map[string]driver{
	"pgx": {
		open:     func(_ *testing.T, pool *pgxpool.Pool) store { return pgxstore.New(pool) },
		exec:     func(ctx context.Context, sql string) error { _, err := pgxstore.Tx(ctx).Exec(ctx, sql); return err },
		together: true,
	},
	"database-sql": {
		open: func(t *testing.T, pool *pgxpool.Pool) store {
			t.Helper()
			db := stdlib.OpenDBFromPool(pool)
			t.Cleanup(func() { _ = db.Close() })
			return sqlstore.New(db)
		},
		exec: func(ctx context.Context, sql string) error {
			_, err := sqlstore.Tx(ctx).ExecContext(ctx, sql)
			return err
		},
	},
}

// onEach runs a test on each driver and an empty table.
func onEach(t *testing.T, test func(t *testing.T, d driver, pool *pgxpool.Pool)) {
	t.Helper()
	for name, d := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, d, newTables(t))
		})
	}
}

// newTables returns a pool on a database with records and effects.
func newTables(t *testing.T, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	pool := testdb.New(t, change...)
	testdb.Exec(t, pool, pgxstore.Schema("idempotency_record")+"CREATE TABLE effect ()")
	return pool
}

var claim = guard.Claim{ID: guard.ID{Scope: "alice", Key: "key-1"}, Operation: "transfer", Fingerprint: "\x02some"}

// created is the result of a command that has an effect.
var created = guard.Result{Response: guard.Response{Status: 201}, TTL: time.Hour}

func (d driver) addEffect(ctx context.Context) error {
	return d.exec(ctx, "INSERT INTO effect DEFAULT VALUES")
}

var protocols = map[string]pgx.QueryExecMode{
	"prepared": pgx.QueryExecModeCacheStatement, "for a pooler": pgx.QueryExecModeExec, "simple": pgx.QueryExecModeSimpleProtocol,
}

func TestStore(t *testing.T) {
	t.Parallel()
	for protocol, mode := range protocols {
		for driverName, d := range drivers {
			t.Run(driverName+" "+protocol, func(t *testing.T) {
				t.Parallel()
				guardtest.Run(t, func(t *testing.T) guardtest.Fixture {
					t.Helper()
					pool := newTables(t, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
					return guardtest.Fixture{
						Store: d.open(t, pool), Replica: d.open(t, pool), Write: d.addEffect,
						Read:    func(ctx context.Context) error { return d.exec(ctx, "SELECT FROM effect") },
						Effects: func(t *testing.T) int { t.Helper(); return testdb.Count(t, pool, "SELECT count(*) FROM effect") },
					}
				})
			})
		}
	}
}

func TestExecute_RunsTheCommandAgainAfterALostRace(t *testing.T) {
	t.Parallel()
	const maxRuns = 5
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		for code, want := range map[string]int{"40001": maxRuns, "40P01": maxRuns, "23505": 1} {
			testdb.Exec(t, pool, "TRUNCATE effect, idempotency_record")
			runs := 0
			_, _, err := d.open(t, pool).Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
				err := d.addEffect(ctx)
				runs++
				if runs < maxRuns {
					err = d.exec(ctx, "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '"+code+"'; END $$")
				}
				return created, err
			})
			effects := testdb.Count(t, pool, "SELECT count(*) FROM effect")
			if again := want > 1; runs != want || (err == nil) != again || (effects == 1) != again {
				t.Errorf("%s: %d runs, %d effects, %v; want %d runs", code, runs, effects, err, want)
			}
		}
	})
}

// A command that goes on after a failed statement has written nothing that could
// commit.
func TestExecute_FailsAfterAStatementThatFailed(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		_, _, err := d.open(t, pool).Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
			_ = errors.Join(d.addEffect(ctx), d.exec(ctx, "SELECT 1/0")) // ignored
			return created, nil
		})
		if err == nil || testdb.Count(t, pool, "SELECT count(*) FROM idempotency_record") != 0 {
			t.Errorf("%v; want an error and no record", err)
		}
	})
}

func TestExecute_RefusesOtherIsolationLevels(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
			cfg := pool.Config()
			cfg.ConnConfig.RuntimeParams["default_transaction_isolation"] = level
			s := d.open(t, testdb.Open(t, cfg))
			_, _, err := s.Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
				return created, d.addEffect(ctx)
			})
			if err == nil || !strings.Contains(err.Error(), level) || testdb.Count(t, pool, "SELECT count(*) FROM effect") != 0 {
				t.Errorf("%v; want an error that names %s, and no effect", err, level)
			}
			if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), level) {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

// A record that has appeared without its lock stops the command: two programs may
// disagree about the number of a lock.
func TestExecute_KeepsARecordThatHasAppeared(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		_, _, err := d.open(t, pool).Execute(t.Context(), claim, func(ctx context.Context) (guard.Result, error) {
			testdb.Exec(t, pool, `INSERT INTO idempotency_record SELECT 'alice', 'key-1', '', '\x02', 200, '', '', '', now(), now() + '1h', now() + '1h'`)
			return created, d.addEffect(ctx)
		})
		if err == nil || testdb.Count(t, pool, "SELECT count(*) FROM effect") != 0 {
			t.Errorf("%v; want an error and no effect", err)
		}
	})
}

func TestKeepClean_DeletesExpiredRecordsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, d driver, pool *pgxpool.Pool) {
		testdb.Exec(t, pool, `INSERT INTO idempotency_record SELECT 'alice', i::text, 'redeem', '', 201, '', '', '', now(), now(),
			now() + CASE WHEN i <= 1001 THEN -1 ELSE 1 END * interval '1 hour' FROM generate_series(1, 1003) i`)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			d.open(t, pool).KeepClean(ctx, time.Hour)
			close(ended)
		}()
		remaining := func(which string) int {
			return testdb.Count(t, pool, "SELECT count(*) FROM idempotency_record WHERE expires_at "+which+" now()")
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
	})
}
