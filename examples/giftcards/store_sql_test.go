package main

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"

	"example.com/orders/kit/guard/guardtest"
)

func TestSQLStore(t *testing.T) {
	t.Parallel()
	guardtest.Run(t, func(t *testing.T) guardtest.Fixture {
		t.Helper()
		pool := newStore(t).pool
		db := stdlib.OpenDBFromPool(pool)
		t.Cleanup(func() { _ = db.Close() })
		return guardtest.Fixture{
			Store: sqlStore{db}, Replica: sqlStore{db},
			Write: func(ctx context.Context) error {
				_, err := sqlTxOf(ctx).ExecContext(ctx, "INSERT INTO effect DEFAULT VALUES")
				return err
			},
			Read: func(ctx context.Context) error {
				var n int
				return sqlTxOf(ctx).QueryRowContext(ctx, "SELECT count(*) FROM effect").Scan(&n)
			},
			Effects: func(t *testing.T) int {
				t.Helper()
				return countEffects(t, pool)
			},
		}
	})
}
