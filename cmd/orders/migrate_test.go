package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
)

// newRole returns an empty database, and a role for this test alone that owns it and may
// not create roles. A test may create another one with the suffix _app.
func newRole(t *testing.T) (superuser, role string) {
	t.Helper()
	superuser = pgtest.New(t)
	conn, err := pgx.Connect(t.Context(), superuser)
	if err != nil {
		t.Fatal(err)
	}
	database := conn.Config().Database
	role = "owner_" + database
	execute := func(statements string) {
		if _, err := conn.Exec(context.Background(), statements); err != nil {
			t.Errorf("%s: %v", statements, err)
		}
	}
	execute("DROP SCHEMA public CASCADE; DROP SCHEMA river CASCADE; CREATE ROLE " + role + " LOGIN")
	execute("CREATE SCHEMA public AUTHORIZATION " + role + "; ALTER DATABASE " + database + " OWNER TO " + role)
	t.Cleanup(func() {
		execute("REASSIGN OWNED BY " + role + " TO postgres; DROP OWNED BY " + role + "; DROP ROLE " + role)
		execute("DO $$ BEGIN DROP OWNED BY " + role + "_app; DROP ROLE " + role + "_app; EXCEPTION WHEN undefined_object THEN END $$")
		_ = conn.Close(context.Background()) // every statement has committed by itself
	})
	return superuser, role
}

func TestMigrate_SaysWhatASuperuserHasToExecute(t *testing.T) {
	t.Parallel()
	superuser, role := newRole(t)
	environ := []string{
		"ORDERS_DATABASE_URL=" + strings.Replace(superuser, "postgres@", role+"@", 1), "ORDERS_DATABASE_ROLE=" + role + "_app",
	}
	var out bytes.Buffer

	if err := run(t.Context(), []string{"migrate", "up"}, environ, &out); err != nil {
		t.Fatal(err)
	}

	said, version, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(said, "nothing was granted") || !strings.Contains(said, "CREATE ROLE "+role+"_app NOLOGIN") ||
		!strings.HasPrefix(version, "schema version ") {
		t.Errorf("it prints %q", out.String())
	}
}

func TestMigrate_GrantsToTheRoleOfTheSetting(t *testing.T) {
	t.Parallel()
	superuser, role := newRole(t)
	role += "_app"
	environ := []string{"ORDERS_DATABASE_URL=" + superuser, "ORDERS_DATABASE_ROLE=" + role}
	conn, err := pgx.Connect(t.Context(), superuser)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()

	if err := run(t.Context(), []string{"migrate", "up"}, environ, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}

	var inserts, updates bool
	err = conn.QueryRow(t.Context(), `SELECT has_table_privilege($1, 'ledger_entry', 'INSERT'),
		has_any_column_privilege($1, 'ledger_entry', 'UPDATE')`, role).Scan(&inserts, &updates)
	if err != nil || !inserts || updates {
		t.Errorf("the role may insert: %t, update: %t, err = %v", inserts, updates, err)
	}
}

func TestMigrate_RefusesARoleThatIsEverybody(t *testing.T) {
	t.Parallel()
	environ := []string{"ORDERS_DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "ORDERS_DATABASE_ROLE=public"}
	err := run(t.Context(), []string{"migrate", "up"}, environ, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "ORDERS_DATABASE_ROLE must be the name of a role") {
		t.Errorf("err = %v", err)
	}
}
