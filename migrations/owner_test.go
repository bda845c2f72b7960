package migrations_test

import (
	"testing"

	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/migrations"
)

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
