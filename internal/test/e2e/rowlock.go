package e2e

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// RowLock is a connection that keeps rows locked.
type RowLock struct {
	env  *Env
	conn *pgx.Conn
	sql  string
	args []any
}

// LockRows locks rows until Release, or until the test ends.
func (e *Env) LockRows(t testing.TB, sql string, args ...any) RowLock {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), e.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	l := RowLock{e, conn, sql, args}
	t.Cleanup(l.Release)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tag, err := tx.Exec(t.Context(), sql, args...); err != nil || tag.RowsAffected() == 0 {
		t.Fatalf("%s: %v, %v", sql, tag, err)
	}
	return l
}

// AwaitWaiter waits until a service statement waits for the locked rows and will do so
// until Release. Statements with a lock timeout do not count: they give up, and their
// commands wait outside the lanes.
func (l RowLock) AwaitWaiter(t testing.TB) {
	t.Helper()
	Eventually(t, "a statement waits for the locked rows", func() bool {
		before := l.waiting(t)
		if len(before) == 0 {
			return false
		}
		l.giveUp(t)
		after := l.waiting(t)
		return slices.ContainsFunc(before, func(waiter string) bool { return slices.Contains(after, waiter) })
	})
}

// waiting returns the statements that wait for the locked rows.
func (l RowLock) waiting(t testing.TB) []string {
	t.Helper()
	rows, _ := l.env.DB.Query(t.Context(), `SELECT pid || ' ' || query_start FROM pg_stat_activity
		WHERE $1::int = ANY(pg_blocking_pids(pid))`, l.conn.PgConn().PID())
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return statements
}

// giveUp waits for the locked rows until the longest lock timeout of a command in a lane
// is over. Commands that began to wait before have given up by then.
func (l RowLock) giveUp(t testing.TB) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), l.env.DB, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SET LOCAL lock_timeout = '1s'"); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), l.sql, l.args...)
		return err
	})
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.Code != "55P03" {
		t.Fatalf("%s: %v, want a lock timeout", l.sql, err)
	}
}

// AwaitWaiters waits until n connections wait for the locked rows, or for waiters.
func (l RowLock) AwaitWaiters(t testing.TB, n int) {
	t.Helper()
	Eventually(t, "statements wait for the locked rows", func() bool {
		return l.env.Count(t, `
			WITH RECURSIVE blocked AS (
				SELECT $1::int AS pid UNION
				SELECT a.pid FROM pg_stat_activity a JOIN blocked b ON b.pid = ANY(pg_blocking_pids(a.pid)))
			SELECT count(*) - 1 FROM blocked`, l.conn.PgConn().PID()) >= n
	})
}

// Waiters counts the connections that wait for the locked rows.
func (l RowLock) Waiters(t testing.TB) int {
	t.Helper()
	return l.countBlocked(t, "count(*)")
}

// KillWaiters ends the connections that wait for the locked rows.
func (l RowLock) KillWaiters(t testing.TB) {
	t.Helper()
	if l.countBlocked(t, "count(*) FILTER (WHERE pg_terminate_backend(pid))") == 0 {
		t.Error("no connection waited for the locked rows")
	}
}

func (l RowLock) countBlocked(t testing.TB, count string) int {
	t.Helper()
	return l.env.Count(t, "SELECT "+count+" FROM pg_stat_activity WHERE $1::int = ANY(pg_blocking_pids(pid))",
		l.conn.PgConn().PID())
}

// Release ends the transaction that holds the locks, by closing its connection.
func (l RowLock) Release() { _ = l.conn.Close(context.Background()) }
