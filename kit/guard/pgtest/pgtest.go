// Package pgtest provides the hooks of package routetest for routes on PostgreSQL, and an
// empty database for each test.
package pgtest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard/routetest"
)

// New returns a pool on an empty database, which is dropped when the test ends. A schema
// would not do, because the advisory locks of a database are common to all schemas.
//
// DATABASE_URL is the URL of the server, with a role that may create databases. If it is
// not set, the test is skipped. The ConnString of the pool is the URL of the database.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	server := os.Getenv("DATABASE_URL")
	if server == "" {
		t.Skip("NOT TESTED: set DATABASE_URL to the URL of a PostgreSQL server whose role may create databases")
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	administer(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { administer(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	u.Path = "/" + name
	pool, err := pgxpool.New(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func administer(t testing.TB, server, statement string) {
	t.Helper()
	ctx := context.Background() // the test may have ended
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Count returns a hook for [routetest.Route.Effects], which counts the rows of a table.
func Count(pool *pgxpool.Pool, table string) func(*testing.T) int {
	return func(t *testing.T) (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// Hold returns a hook for [routetest.Route.Hold]. The statement lock locks rows that every
// command needs: SELECT FROM account FOR UPDATE.
func Hold(pool *pgxpool.Pool, lock string) func(*testing.T) routetest.Hold {
	return func(t *testing.T) routetest.Hold {
		t.Helper()
		conn := begin(t, pool, lock)
		release := sync.OnceFunc(func() { _ = conn.Close(context.Background()) }) // rolls back
		t.Cleanup(release)
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
}

// begin executes a statement in a transaction that is open until the connection is closed.
func begin(t *testing.T, pool *pgxpool.Pool, statement string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"BEGIN", statement} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return conn
}

// Break returns a hook for [routetest.Route.Fail] and [routetest.Route.FailRecord], which
// lets every write to a table fail.
func Break(pool *pgxpool.Pool, table string) func(*testing.T) (repair func()) {
	return func(t *testing.T) (repair func()) {
		t.Helper()
		exec(t, pool, "ALTER TABLE "+table+" ADD CONSTRAINT broken CHECK (false) NOT VALID")
		return func() { exec(t, pool, "ALTER TABLE "+table+" DROP CONSTRAINT broken") }
	}
}

// Expire returns a hook for [routetest.Route.Expire]. records is the table of the store.
func Expire(pool *pgxpool.Pool, records string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		exec(t, pool, "UPDATE "+records+" SET expires_at = now() - interval '1 second'")
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
