package migrations_test

import (
	"errors"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	devpostgres "example.com/orders/internal/dev/postgres"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/migrations"
)

// wantNotAllowed checks that an error is one of missing privileges.
func wantNotAllowed(t *testing.T, what string, err error) {
	t.Helper()
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != notAllowed {
		t.Errorf("%s: err = %v, want %s", what, err, notAllowed)
	}
}

// The owner of the schema cannot revoke this: it belongs to the superuser of the server.
func TestRoles_ConfineTheServiceToItsDatabase(t *testing.T) {
	t.Parallel()
	script, err := os.Open("../deploy/postgres/roles.sql")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = script.Close() }()
	server := pgtest.StartCluster(t, devpostgres.Config{})
	psql := server.Command(t.Context(), "psql", "--set=ON_ERROR_STOP=1", server.URL("postgres"))
	psql.Stdin = script
	psql.Env = append(psql.Env, "OWNER_PASSWORD=owner", "APP_PASSWORD=app")
	if out, err := psql.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	owner := server.URLAs("orders_owner", "orders")
	if err := errors.Join(migrations.Up(t.Context(), owner), migrations.Grant(t.Context(), owner, "orders_service")); err != nil {
		t.Fatal(err)
	}

	service := connect(t, server.URLAs("orders_app", "orders"))

	_, err = service.Exec(t.Context(), "SELECT lo_create(0)")
	wantNotAllowed(t, "a large object", err)
	for _, other := range []string{"postgres", "template1"} {
		_, err := pgx.Connect(t.Context(), server.URLAs("orders_app", other))
		wantNotAllowed(t, "the database "+other, err)
	}
	if p := privileges(t, server.URLAs("orders_app", "orders")); len(p.Missing)+len(p.Excess) > 0 {
		t.Errorf("missing %q, excess %q", p.Missing, p.Excess)
	}
}
