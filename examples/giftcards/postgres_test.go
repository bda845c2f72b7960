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

	"example.com/orders/internal/idempotency/routetest"
)

// newPool returns a pool on an empty schema of its own, which is dropped when the test ends.
// Every service has its own databaseURL.
func newPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(databaseURL(t))
	if err != nil {
		t.Fatal(err)
	}
	schema := "test_" + strings.ToLower(rand.Text())
	cfg.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, pool, "CREATE SCHEMA "+schema)
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
		pool.Close()
	})
	return pool
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
	const waiting = " FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid))"
	await := func() {
		deadline := time.Now().Add(time.Minute)
		for mustCount(t, pool, "SELECT count(*)"+waiting, conn.PgConn().PID()) == 0 {
			if time.Now().After(deadline) {
				t.Fatal("no command waits for the rows: ", lock)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	crash := func() {
		mustCount(t, pool, "SELECT count(pg_terminate_backend(pid))"+waiting, conn.PgConn().PID())
	}
	return routetest.Hold{Await: await, Crash: crash, Release: release}
}

// failRecords lets the last write of every command fail, which is that of its record.
func failRecords(t *testing.T, pool *pgxpool.Pool) (repair func()) {
	t.Helper()
	mustExec(t, pool, "ALTER TABLE idempotency_record ADD CONSTRAINT broken CHECK (false) NOT VALID")
	return func() { mustExec(t, pool, "ALTER TABLE idempotency_record DROP CONSTRAINT broken") }
}

// expireRecords makes all records expire.
func expireRecords(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	mustExec(t, pool, "UPDATE idempotency_record SET expires_at = now() - interval '1 second'")
}
