package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// The provider is asked about these payments under names that migration 8 changes.
func TestUp_RefusesToRenamePaymentsThatAreProcessing(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	downTo(t, url, 8)
	execute(t, url,
		`INSERT INTO orders (customer_id, seller_id, status, total, currency, version, created_by, idempotency_key, created_at, updated_at)
		 VALUES ('ann', 'shop', 'payment_processing', 1, 'RUB', 2, 'ann', 'key-1', now(), now())`,
		`INSERT INTO payment (order_id, idempotency_key, amount, currency, method, status, created_by, provider, card_token)
		 SELECT id, 'key-2', 1, 'RUB', 'card', 'processing', 'ann', 'stripe', 'pm_card_visa' FROM orders`)

	err := migrations.Up(t.Context(), url)

	if !errors.Is(err, migrations.ErrUnsettledCards) {
		t.Errorf("err = %v, want %v", err, migrations.ErrUnsettledCards)
	}
	wantVersion(t, url, 7)
	execute(t, url, "UPDATE payment SET status = 'failed'")
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Errorf("after the payment has failed: %v", err)
	}
}

// The planner's statistics hold values of rows, also of rows that are deleted.
func TestUp_ForgetsTheStatisticsOfProfiles(t *testing.T) {
	t.Parallel()
	const inStatistics = "SELECT count(*) FROM pg_stats s WHERE strpos(s::text, 'planted') > 0"
	url := pgtest.New(t)
	downTo(t, url, 15)
	execute(t, url, `INSERT INTO customer_profile (customer_id, full_name, email, phone, updated_at)
		SELECT i, 'planted name ' || i, 'planted address ' || i, 'planted phone ' || i, now() FROM generate_series(1, 3) i`, "ANALYZE")
	if n := count(t, url, inStatistics); n != 3 {
		t.Fatalf("%d columns have statistics before the migration, want 3", n)
	}
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if n := count(t, url, inStatistics); n != 0 {
		t.Errorf("%d columns have statistics after the migration", n)
	}
	execute(t, url, "ANALYZE")
	if n := count(t, url, inStatistics); n != 0 {
		t.Errorf("%d columns have statistics again", n)
	}
}

// Clients read integers exactly up to 2^53 - 1. A draw reserves as many IDs as the sequence
// steps by.
func TestSequences_EndBeforeIDsThatClientsCannotRead(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	const ofClients = "schemaname = 'public' AND sequencename <> 'outbox_id_seq'" // no client sees its ids
	if n := count(t, url, "SELECT count(*) FROM pg_sequences WHERE "+ofClients); n < 7 {
		t.Fatalf("found %d sequences", n)
	}
	if n := count(t, url, "SELECT count(*) FROM pg_sequences WHERE max_value > (1::bigint << 53) - increment_by AND "+ofClients); n != 0 {
		t.Errorf("%d sequences end after 2^53 - 1", n)
	}
	execute(t, url, "SELECT setval('orders_id_seq', (SELECT max_value FROM pg_sequences WHERE sequencename = 'orders_id_seq'))")
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "SELECT nextval('orders_id_seq')"); err == nil {
		t.Error("the sequence of orders goes on after its end")
	}
}

// downTo reverts migrations until the schema is older than a version.
func downTo(t *testing.T, url string, version uint) {
	t.Helper()
	for {
		at, dirty, err := migrations.Version(url)
		if err != nil || dirty {
			t.Fatalf("version %d, dirty = %v, err = %v", at, dirty, err)
		}
		if at < version {
			return
		}
		if err := migrations.Down(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
}

func count(t *testing.T, url, query string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// A command holds the table that the migration locks last, and wants the one that it has
// locked first. PostgreSQL ends the migration, whose wait has a bound.
func TestUp_RunsAMigrationAgainThatDeadlocksWithACommand(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	files, version := withNext(t, "ALTER TABLE outbox ADD COLUMN next text; ALTER TABLE audit_log ADD COLUMN next text;")
	command := begin(t, url, "SET LOCAL deadlock_timeout = '1h'", "LOCK TABLE audit_log IN ROW EXCLUSIVE MODE")
	migrated := upInBackground(t.Context(), t, files, url, "relation = 'audit_log'::regclass")

	if _, err := command.Exec(t.Context(), "LOCK TABLE outbox IN ROW EXCLUSIVE MODE"); err != nil {
		t.Fatalf("the command was ended: %v", err)
	}
	if err := command.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := <-migrated; err != nil {
		t.Errorf("the migration ended with %v", err)
	}
	wantVersion(t, url, version)
}

// begin begins a transaction that lasts until the test ends it, or ends itself.
func begin(t *testing.T, url string, statements ...string) pgx.Tx {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := tx.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return tx
}

// wantOwner checks what every step says to a role that may not migrate.
func wantOwner(t *testing.T, url, want string) {
	t.Helper()
	for name, step := range map[string]func() error{
		"up":   func() error { return migrations.Up(t.Context(), url) },
		"down": func() error { return migrations.Down(t.Context(), url) },
	} {
		if err := step(); err == nil || err.Error() != want {
			t.Errorf("%s: err = %v\nwant %s", name, err, want)
		}
	}
}

func TestMigrations_NameTheOwnerToAnotherRole(t *testing.T) {
	t.Parallel()
	wantOwner(t, pgtest.AsService(t, pgtest.New(t)), `the database role "orders_app" does not own the tables: `+
		`let ORDERS_DATABASE_URL of orders migrate name their owner, "postgres"`)
}

func TestMigrations_NameTheOwnerOfAnEmptyDatabaseToAnotherRole(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	execute(t, url, "DROP SCHEMA public CASCADE", "DROP SCHEMA river CASCADE", "CREATE SCHEMA public")
	wantOwner(t, pgtest.AsService(t, url), `the database role "orders_app" may not create tables: `+
		`let ORDERS_DATABASE_URL of orders migrate name the owner of the database, "postgres"`)
}

func TestMigrations_ChooseTheServerThatAcceptsWrites(t *testing.T) {
	t.Parallel()
	servers := pgtest.NewReplicated(t)
	standby, primary := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	standby.LeadTo(t, servers.StandbyURL())
	primary.LeadTo(t, servers.PrimaryURL())
	url := pgtest.Through(t, servers.PrimaryURL(), standby, primary)
	if err := migrations.Down(t.Context(), url); err != nil {
		t.Error(err)
	}
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Error(err)
	}
	if _, err := migrations.Grant(t.Context(), url); err != nil {
		t.Error(err)
	}
}

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
	for table, c := range map[string]struct{ lockOfCommand, up string }{
		"outbox":            {"ROW EXCLUSIVE", "ALTER TABLE outbox ADD COLUMN next text;"},
		"schema_migrations": {"ACCESS SHARE", "CREATE INDEX CONCURRENTLY next ON outbox (aggregate);\n"},
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			files, version := withNext(t, c.up)
			backup := begin(t, url, "LOCK TABLE "+table+" IN ACCESS SHARE MODE")
			migrated := upInBackground(t.Context(), t, files, url, "relation = '"+table+"'::regclass")

			command := begin(t, url, "SET LOCAL lock_timeout = '1min'", "LOCK TABLE "+table+" IN "+c.lockOfCommand+" MODE")

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

func TestUp_RepairsAfterAnIndexFailed(t *testing.T) {
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

	execute(t, url, "UPDATE outbox SET aggregate = 'other' WHERE id = (SELECT max(id) FROM outbox)")

	if err := migrations.UpFrom(t.Context(), files, url); err != nil {
		t.Error(err)
	}
	wantVersion(t, url, version)
}
