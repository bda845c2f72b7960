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
	downTo(t, url, 7)
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

// downTo reverts migrations until the schema has a version.
func downTo(t *testing.T, url string, want uint) {
	t.Helper()
	for {
		version, _, err := migrations.Version(url)
		if err != nil {
			t.Fatal(err)
		}
		if version <= want {
			return
		}
		if err := migrations.Down(t.Context(), url); err != nil {
			t.Fatal(err)
		}
	}
}
