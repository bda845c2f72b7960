package world

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/orders/internal/test/e2e"
	pgtest "example.com/orders/internal/test/pg"
)

// Count returns the number that a query returns. It retries while the database is down.
func (s *System) Count(t testing.TB, query string, args ...any) (n int) {
	t.Helper()
	s.ReadValue(t, &n, query, args...)
	return n
}

// ReadValue reads the single value that a query returns. It retries while the database is
// down.
func (s *System) ReadValue(t testing.TB, value any, query string, args ...any) {
	t.Helper()
	e2e.Eventually(t, "the database answers", func() bool {
		return Answered(t, s.DB.QueryRow(t.Context(), query, args...).Scan(value))
	})
}

// Exec executes a repeatable statement. It retries while the database is down.
func (s *System) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	e2e.Eventually(t, "the database answers", func() bool {
		_, err := s.DB.Exec(t.Context(), statement, args...)
		return Answered(t, err)
	})
}

// Answered reports whether a database that may be down has answered. Any other error
// ends the test.
func Answered(t testing.TB, err error) bool {
	t.Helper()
	var refused *pgconn.PgError
	if errors.As(err, &refused) && !strings.HasPrefix(refused.Code, "57P") { // admin_shutdown and the like
		t.Fatal(err)
	}
	return err == nil
}

// OwnServer moves the system to a separate, durable server.
func OwnServer(t testing.TB, s *System) {
	t.Helper()
	s.Server = pgtest.NewCluster(t, nil)
	s.DatabaseURL = pgtest.NewOn(t, s.Server)
}

// RestartServer restarts PostgreSQL and renews the connections of the test.
func (s *System) RestartServer(t testing.TB) {
	t.Helper()
	if err := s.Server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.DB.Reset() // its connections are broken
}

// SynchronousStandby moves the system to a primary that waits for its standby.
func SynchronousStandby(t testing.TB, s *System) {
	t.Helper()
	AsynchronousStandby(t, s)
	s.Servers.SetSynchronous(t, true)
}

// AsynchronousStandby moves the system to a primary that does not wait for its standby.
func AsynchronousStandby(t testing.TB, s *System) {
	t.Helper()
	s.Servers = pgtest.NewReplicated(t)
	s.DatabaseURL = s.Servers.URL()
}

// Promote kills the primary, promotes the standby, and waits until the replicas use it.
func (s *System) Promote(t testing.TB) {
	t.Helper()
	s.Servers.Promote(t)
	s.DB.Reset() // its connections are broken
	s.Counters.Add("failovers", 1)
	for _, r := range s.Replicas {
		r.Process.AwaitReady(t)
	}
}

// TakeBackup copies the running server's data directory.
func (s *System) TakeBackup(t testing.TB) (dir string) {
	t.Helper()
	dir = s.Server.DataDir() + "-backup" // removed with the server
	backup := s.Server.Command(t.Context(), "pg_basebackup", "--pgdata="+dir, "--dbname="+s.Server.URL("postgres"),
		"--checkpoint=fast", "--no-sync")
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	return dir
}

// BeginTimeline makes a backup recover as from an archive that has no more WAL.
func BeginTimeline(t testing.TB, backup string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(backup, "recovery.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	settings, err := os.OpenFile(filepath.Join(backup, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(settings, "restore_command = 'false'")
	if closed := settings.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
}

// Restore starts the server on a backup instead of its data.
func (s *System) Restore(t testing.TB, backup string) {
	t.Helper()
	data := s.Server.DataDir()
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(backup, data); err != nil {
		t.Fatal(err)
	}
	s.RestartServer(t)
}
