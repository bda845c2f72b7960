package guardtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard/guardtest"
	"example.com/orders/kit/guard/pgxstore"
)

// A store is tested on an empty database, with a table of effects.
func ExampleRun() {
	_ = func(t *testing.T) { // TestStore
		guardtest.Run(t, func(t *testing.T) guardtest.Fixture {
			t.Helper()
			pool := newDatabase(t)
			store := pgxstore.New(pool)
			return guardtest.Fixture{
				Store: store, Replica: pgxstore.New(pool),
				Write: func(ctx context.Context) error {
					_, err := pgxstore.Tx(ctx).Exec(ctx, "INSERT INTO effect DEFAULT VALUES")
					return err
				},
				Read: func(ctx context.Context) error {
					_, err := pgxstore.Tx(ctx).Exec(ctx, "SELECT FROM effect")
					return err
				},
				Effects: func(t *testing.T) (n int) {
					t.Helper()
					if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM effect").Scan(&n); err != nil {
						t.Fatal(err)
					}
					return n
				},
			}
		})
	}
}

// newDatabase stands for a pool on an empty database with both tables.
func newDatabase(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return nil
}
