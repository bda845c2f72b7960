package main

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard/routetest"
)

// newPool returns a pool on an empty database, which is dropped when the test ends. A schema
// would not do: the advisory locks of a database are common to all of its schemas.
func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(databaseURL(t))
	if err != nil {
		t.Fatal(err)
	}
	server, name := cfg.ConnConfig.Copy(), "test_"+strings.ToLower(rand.Text())
	administer(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { administer(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	cfg.ConnConfig.Database = name
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// administer executes one statement on the server of databaseURL.
func administer(t *testing.T, server *pgx.ConnConfig, statement string) {
	t.Helper()
	ctx := context.Background() // the test may have ended
	conn, err := pgx.ConnectConfig(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func mustExec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func mustCount(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// These are the hooks of routetest for every route on this store.

// holdRows locks the rows that a command needs.
func holdRows(t *testing.T, pool *pgxpool.Pool, lock string) routetest.Hold {
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

// breakTable lets every write to a table fail.
func breakTable(t *testing.T, pool *pgxpool.Pool, table string) (repair func()) {
	t.Helper()
	mustExec(t, pool, "ALTER TABLE "+table+" ADD CONSTRAINT broken CHECK (false) NOT VALID")
	return func() { mustExec(t, pool, "ALTER TABLE "+table+" DROP CONSTRAINT broken") }
}

// expireRecords makes all records expire.
func expireRecords(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	mustExec(t, pool, "UPDATE idempotency_record SET expires_at = now() - interval '1 second'")
}
