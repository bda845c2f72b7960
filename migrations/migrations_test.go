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
