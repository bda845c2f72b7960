package migrations_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
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
	if err := migrations.Grant(t.Context(), url, "orders_service"); err != nil {
		t.Error(err)
	}
}
