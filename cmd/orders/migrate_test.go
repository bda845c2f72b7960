package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	devpostgres "example.com/orders/internal/dev/postgres"
	pgtest "example.com/orders/internal/test/pg"
)

func TestMigrate_SaysWhatASuperuserHasToExecute(t *testing.T) {
	t.Parallel()
	server := pgtest.StartCluster(t, devpostgres.Config{}) // without the roles of other tests
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // every statement has committed
	for _, statement := range []string{"CREATE ROLE owner LOGIN", "CREATE ROLE orders_operator", "CREATE DATABASE shop OWNER owner"} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"ORDERS_DATABASE_URL=" + server.URLAs("owner", "shop")}
	var out bytes.Buffer

	if err := run(t.Context(), []string{"migrate", "up"}, environ, &out); err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{"CREATE ROLE orders_service NOLOGIN", "schema version "} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d is %q, want %s", i, lines[i], want)
		}
	}
	var operates bool
	migrated, err := pgx.Connect(t.Context(), server.URL("shop"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = migrated.Close(t.Context()) }() // it has only read
	const query = "SELECT has_schema_privilege('orders_operator', 'river', 'USAGE') AND has_table_privilege('orders_operator', 'orders', 'SELECT')"
	if err := migrated.QueryRow(t.Context(), query).Scan(&operates); err != nil || !operates {
		t.Errorf("the operators have their privileges: %v, %v", operates, err)
	}
}
