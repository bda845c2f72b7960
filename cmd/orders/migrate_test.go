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
// not create roles.
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
