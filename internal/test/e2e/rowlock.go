package e2e

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// RowLock is rows that a test keeps locked, on a connection of its own.
type RowLock struct {
	env  *Env
	conn *pgx.Conn
}

// LockRows locks rows until Release, or the end of the test.
func (e *Env) LockRows(t testing.TB, sql string, args ...any) RowLock {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), e.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	l := RowLock{e, conn}
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

// AwaitWaiter waits until a statement of the service waits for the locked rows, and will do
// so until Release. The statements of a group do not count: they give up, and let each
// member wait alone.
func (l RowLock) AwaitWaiter(t testing.TB) {
	t.Helper()
	Eventually(t, "a statement waits for the locked rows", func() bool {
		return l.countBlocked(t, "count(*) FILTER (WHERE query !~ '^-- name: Lock(Orders|Stock|Balances) ')") > 0
	})
}

// AwaitWaiters waits until n connections wait for the locked rows, or for others that do.
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
