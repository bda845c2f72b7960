// Package testdb creates a database of PostgreSQL for each test.
package testdb

import (
	"cmp"
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// New returns a pool on an empty database, which is dropped when the test ends. A schema
// would not do, because the advisory locks of a database are common to its schemas.
// change may change how the pool connects.
func New(t *testing.T, change ...func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	cfg := create(t)
	for _, c := range change {
		c(cfg)
	}
	return Open(t, cfg)
}

// Open returns a pool that is closed when the test ends.
func Open(t *testing.T, cfg *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// create creates a database and returns how to connect to it.
func create(t *testing.T) *pgxpool.Config {
	t.Helper()
	url := cmp.Or(os.Getenv("ORDERS_TEST_POSTGRES_URL"), os.Getenv("DATABASE_URL"))
	if url == "" {
		t.Skip("NOT TESTED: set DATABASE_URL to a PostgreSQL server whose role may create databases")
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	server, name := cfg.ConnConfig.Copy(), "test_"+strings.ToLower(rand.Text())
	administer(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { administer(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	cfg.ConnConfig.Database = name
	cfg.MaxConns = 10
	return cfg
}

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

// Exec executes statements.
func Exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// Count returns the number that a query selects.
func Count(t *testing.T, pool *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}
