package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5/pgconn"

	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/migrations"
)

// withNext returns our migrations and one more.
func withNext(t *testing.T, up string) (files fs.FS, version uint) {
	t.Helper()
	names, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{}
	for _, name := range names {
		text, err := migrations.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &fstest.MapFile{Data: text}
	}
	version = newest(t) + 1
	all[fmt.Sprintf("%04d_next.up.sql", version)] = &fstest.MapFile{Data: []byte(up)}
	return all, version
}

func newest(t *testing.T) uint {
	t.Helper()
	version, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// wantVersion checks the version of a schema that is not dirty.
func wantVersion(t *testing.T, url string, want uint) {
	t.Helper()
	if version, dirty, err := migrations.Version(url); version != want || dirty || err != nil {
		t.Errorf("version = %d, dirty = %v, err = %v; want %d", version, dirty, err, want)
	}
}

// upInBackground migrates until the test ends, and waits until a lock stops the migration.
func upInBackground(ctx context.Context, t *testing.T, files fs.FS, url, waiting string) (migrated <-chan error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- migrations.UpFrom(ctx, files, url) }()
	testwait.Until(t, "the migration waits for a lock", func() bool {
		return count(t, url, "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"+
			" WHERE datname = current_database() AND NOT granted AND "+waiting) == 1
	})
	return ended
}

// A backup reads each table until it ends. A migration waits for it, and whoever comes after
// the migration would wait for both.
func TestUp_LetsCommandsPassWhileItWaitsForABackup(t *testing.T) {
	t.Parallel()
	for table, lockOfCommand := range map[string]string{"outbox": "ROW EXCLUSIVE", "schema_migrations": "ACCESS SHARE"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			files, version := withNext(t, "ALTER TABLE outbox ADD COLUMN next text;")
			backup := begin(t, url, "LOCK TABLE "+table+" IN ACCESS SHARE MODE")
			migrated := upInBackground(t.Context(), t, files, url, "relation = '"+table+"'::regclass")

			command := begin(t, url, "SET LOCAL lock_timeout = '1min'", "LOCK TABLE "+table+" IN "+lockOfCommand+" MODE")

			for _, tx := range []interface{ Commit(context.Context) error }{command, backup} {
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-migrated; err != nil {
				t.Error(err)
			}
			wantVersion(t, url, version)
		})
	}
}

// What was rolled back is no failure that somebody has to repair.
func TestUp_LeavesNothingWhenItIsStoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	files, version := withNext(t, "CREATE TABLE next (id bigint); ALTER TABLE outbox ADD COLUMN next text;")
	begin(t, url, "LOCK TABLE outbox IN ACCESS SHARE MODE")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	migrated := upInBackground(ctx, t, files, url, "relation = 'outbox'::regclass")

	stop()

	if err := <-migrated; !errors.Is(err, migrations.ErrLocked) {
		t.Errorf("err = %v, want %v", err, migrations.ErrLocked)
	}
	wantVersion(t, url, version-1)
	if n := count(t, url, "SELECT count(*) FROM pg_class WHERE relname = 'next'"); n != 0 {
		t.Error("the migration has left its table")
	}
}

func TestAgain_GivesUpAfterSoManyLostRaces(t *testing.T) {
	t.Parallel()
	locked := database.Error{OrigErr: &pgconn.PgError{Code: "55P03"}}
	for name, test := range map[string]struct {
		err   error
		calls int
		want  error
	}{
		"a lock of golang-migrate's transaction": {&locked, 3, migrations.ErrLocked},
		"a lock of the file":                     {locked, 3, migrations.ErrLocked},
		"a lock of River's file":                 {locked.OrigErr, 3, migrations.ErrLocked},
		"a deadlock":                             {database.Error{OrigErr: &pgconn.PgError{Code: "40P01"}}, 3, migrations.ErrLocked},
		"another error":                          {fs.ErrNotExist, 1, fs.ErrNotExist},
		"success":                                {nil, 1, nil},
	} {
		calls := 0
		err := migrations.Again(3, func() error { calls++; return test.err })
		if calls != test.calls || !errors.Is(err, test.want) {
			t.Errorf("%s: %d calls, err = %v; want %d calls and %v", name, calls, err, test.calls, test.want)
		}
	}
}

// An index that is created beside the commands waits for transactions that write. Nobody
// waits behind it, so its wait has no bound.
func TestUp_WaitsAsLongAsItTakesToCreateAnIndexConcurrently(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	files, version := withNext(t, "CREATE INDEX CONCURRENTLY next ON outbox (aggregate);\n")
	writer := begin(t, url, "LOCK TABLE outbox IN ROW EXCLUSIVE MODE")

	migrated := upInBackground(t.Context(), t, files, url, "locktype = 'virtualxid' AND waitstart < clock_timestamp() - interval '2 s'")

	if err := writer.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
	wantVersion(t, url, version)
}

// CONTRIBUTING.md has these statements.
func TestUp_CanBeRepairedAfterAnIndexFailed(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	files, version := withNext(t, "CREATE UNIQUE INDEX CONCURRENTLY next ON outbox (aggregate);\n")
	for range 2 {
		execute(t, url, `INSERT INTO outbox (type, aggregate, data, created_at) VALUES ('a', 'same', '{}', now())`)
	}
	if err := migrations.UpFrom(t.Context(), files, url); err == nil {
		t.Fatal("an index over equal values was created")
	}
	if _, dirty, err := migrations.Version(url); !dirty || err != nil {
		t.Errorf("dirty = %v, err = %v; want a schema that somebody has to repair", dirty, err)
	}
	if n := count(t, url, "SELECT count(*) FROM pg_index WHERE NOT indisvalid"); n != 1 {
		t.Errorf("%d invalid indexes, want the one that failed", n)
	}

	execute(t, url, "UPDATE outbox SET aggregate = 'other' WHERE id = (SELECT max(id) FROM outbox)",
		"DROP INDEX CONCURRENTLY IF EXISTS next",
		fmt.Sprintf("UPDATE schema_migrations SET version = %d, dirty = false", version-1))

	if err := migrations.UpFrom(t.Context(), files, url); err != nil {
		t.Error(err)
	}
	wantVersion(t, url, version)
}
