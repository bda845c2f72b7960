package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// newDatabase returns the URL of a database with nothing but what statements create.
func newDatabase(t *testing.T, statements ...string) string {
	t.Helper()
	url := pgtest.New(t)
	execute(t, url, "DROP SCHEMA public CASCADE", "DROP SCHEMA river CASCADE", "CREATE SCHEMA public")
	execute(t, url, statements...)
	return url
}

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

func TestUp_RefusesASchemaFromBeforeTheFirstRelease(t *testing.T) {
	t.Parallel()
	url := newDatabase(t,
		"CREATE TABLE schema_migrations (version bigint PRIMARY KEY, dirty boolean NOT NULL)",
		"INSERT INTO schema_migrations VALUES (6, false)",
		"CREATE TABLE movement (id bigint PRIMARY KEY)",
	)

	err := migrations.Up(t.Context(), url)

	if !errors.Is(err, migrations.ErrBeforeFirstRelease) {
		t.Errorf("err = %v, want %v", err, migrations.ErrBeforeFirstRelease)
	}
	if version, dirty, err := migrations.Version(url); version != 6 || dirty || err != nil {
		t.Errorf("version = %d, dirty = %v, err = %v; want the schema as it was", version, dirty, err)
	}
}

func TestUp_MigratesAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	url := newDatabase(t)
	newest, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second time, nothing is left to do
		if err := migrations.Up(t.Context(), url); err != nil {
			t.Fatal(err)
		}
		if version, dirty, err := migrations.Version(url); version != newest || dirty || err != nil {
			t.Errorf("version = %d, dirty = %v, err = %v; want %d", version, dirty, err, newest)
		}
	}
}

// A table that somebody else calls movement does not make a database an old one.
func TestUp_MigratesADatabaseWithATableMovement(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, "CREATE TABLE movement (id bigint PRIMARY KEY)")
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Error(err)
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
	if version, dirty, err := migrations.Version(url); version != 7 || dirty || err != nil {
		t.Errorf("version = %d, dirty = %v, err = %v; want the schema as it was", version, dirty, err)
	}
	execute(t, url, "UPDATE payment SET status = 'failed'")
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Errorf("after the payment has failed: %v", err)
	}
}

// A charge that began first has locked the balance last, so the entries' times contradict
// their balances.
func TestUp_PlacesLedgerEntriesInTheOrderOfTheirBalances(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	downTo(t, url, 14)
	execute(t, url, `INSERT INTO balance (customer_id, currency, amount) VALUES ('ann', 'RUB', 2), ('ann', 'JPY', 0)`,
		`INSERT INTO ledger_entry (kind, debit, credit, amount, currency, customer_id, balance_after, description, created_at)
		VALUES ('credit', 'world', 'customer/ann', 9, 'RUB', 'ann', 9, 'first', '2026-01-01 12:00:00Z'),
		       ('charge', 'customer/ann', 'world', 3, 'RUB', 'ann', 2, 'third', '2026-01-01 12:00:01Z'),
		       ('charge', 'customer/ann', 'world', 4, 'RUB', 'ann', 5, 'second', '2026-01-01 12:00:02Z')`)

	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}

	var entries, balances string
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	err = conn.QueryRow(t.Context(), `SELECT
		(SELECT string_agg(position || ' ' || description, ', ' ORDER BY created_at) FROM ledger_entry),
		(SELECT string_agg(currency || ' ' || position, ', ' ORDER BY currency) FROM balance)`).Scan(&entries, &balances)
	if err != nil {
		t.Fatal(err)
	}
	if entries != "1 first, 2 second, 3 third" || balances != "JPY 0, RUB 3" {
		t.Errorf("entries %q, balances %q", entries, balances)
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

// Of profiles that exist, only the last change is known.
func TestUp_GivesProfilesATimeOfCreation(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	downTo(t, url, 16)
	execute(t, url, `INSERT INTO customer_profile (customer_id, full_name, email, phone, updated_at)
		VALUES ('ann', 'Ann', 'ann@example.com', '+1', '2026-01-01 12:00:00Z')`)
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if n := count(t, url, "SELECT count(*) FROM customer_profile WHERE created_at = '2026-01-01 12:00:00Z'"); n != 1 {
		t.Errorf("%d profiles have the time of their last change, want 1", n)
	}
	execute(t, url, `INSERT INTO customer_profile (customer_id, full_name, email, phone, updated_at)
		VALUES ('bob', 'Bob', 'bob@example.com', '+2', now())`) // as the previous binary does
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

// downTo reverts migrations until the schema is older than a version, and returns the
// version that it then has.
func downTo(t *testing.T, url string, version uint) uint {
	t.Helper()
	for {
		at, dirty, err := migrations.Version(url)
		if err != nil || dirty {
			t.Fatalf("version %d, dirty = %v, err = %v", at, dirty, err)
		}
		if at < version {
			return at
		}
		if err := migrations.Down(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
}

// No migration decides which of two equal references is meant.
func TestUp_FailsWhenReferencesAreNotUnique(t *testing.T) {
	t.Parallel()
	const references = 12
	url := newDatabase(t)
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	before := downTo(t, url, references)
	for range 2 {
		execute(t, url, `INSERT INTO ledger_entry (kind, debit, credit, amount, currency, customer_id, balance_after, reference, created_at)
			VALUES ('credit', 'world', 'customer/ann', 1, 'RUB', 'ann', 1, 'A-1', now())`)
	}

	err := migrations.Up(t.Context(), url)

	if err == nil || !strings.Contains(err.Error(), "have the same reference") {
		t.Errorf("err = %v, want one that names the references", err)
	}
	if n := count(t, url, "SELECT count(*) FROM ledger_entry WHERE reference = 'A-1'"); n != 2 {
		t.Errorf("%d entries are left, want 2", n)
	}
	execute(t, url, "UPDATE ledger_entry SET reference = 'A-2' WHERE id = (SELECT max(id) FROM ledger_entry)",
		fmt.Sprintf("UPDATE schema_migrations SET version = %d, dirty = false", before))
	if err := migrations.Up(t.Context(), url); err != nil {
		t.Errorf("after the repair: %v", err)
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
