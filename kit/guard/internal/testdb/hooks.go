package testdb

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard/routetest"
)

// These are the hooks of package routetest for routes on PostgreSQL.

// Hold locks the rows that a command needs with a statement.
func Hold(t *testing.T, pool *pgxpool.Pool, lock string) routetest.Hold {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	release := sync.OnceFunc(func() { _ = conn.Close(context.Background()) }) // rolls back
	t.Cleanup(release)
	for _, sql := range []string{"BEGIN", lock} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	// The pool may be exhausted by then, so this connection looks for itself.
	waiting := func(column string) (n int) {
		err := conn.QueryRow(t.Context(), "SELECT count("+column+`) FROM pg_locks
			WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	await := func() {
		for deadline := time.Now().Add(time.Minute); waiting("*") == 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no command waits for the rows: ", lock)
			}
		}
	}
	crash := func() { waiting("pg_terminate_backend(pid)") }
	return routetest.Hold{Await: await, Crash: crash, Release: release}
}

// Break lets every write to a table fail.
func Break(t *testing.T, pool *pgxpool.Pool, table string) (repair func()) {
	t.Helper()
	Exec(t, pool, "ALTER TABLE "+table+" ADD CONSTRAINT broken CHECK (false) NOT VALID")
	return func() { Exec(t, pool, "ALTER TABLE "+table+" DROP CONSTRAINT broken") }
}
