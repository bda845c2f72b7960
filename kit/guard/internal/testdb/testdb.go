// Package testdb creates a database of PostgreSQL for each test.
package testdb

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// New returns a pool on an empty database, which is dropped when the test ends. A
// schema would not do, because the advisory locks of a database are common to its
// schemas. change may change how the pool connects.
func New(t testing.TB, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(URL(t))
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 10
	for _, c := range change {
		c(cfg)
	}
	return Open(t, cfg)
}

// Open returns a pool that is closed when the test ends.
func Open(t testing.TB, cfg *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// URL returns the URL of an empty database, which is dropped when the test ends.
func URL(t testing.TB) string {
	t.Helper()
	server := cmp.Or(os.Getenv("ORDERS_TEST_POSTGRES_URL"), os.Getenv("DATABASE_URL"))
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
	return u.String()
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

// Exec executes statements.
func Exec(t testing.TB, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Count returns the number that a query selects.
func Count(t testing.TB, pool *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}
