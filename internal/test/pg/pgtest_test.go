package pgtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/migrations"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func TestNew_CreatesAMigratedDatabaseForEachTest(t *testing.T) {
	newest, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			version, dirty, err := migrations.Version(url)
			if err != nil || dirty || version != newest {
				t.Errorf("version = %d, dirty = %v, err = %v; want the newest, %d", version, dirty, err, newest)
			}
			// Fails in the second database if two tests share one.
			if _, err := connect(t, url).Exec(t.Context(), "CREATE TABLE mine (id int)"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNew_DropsTheDatabaseWhenTheTestEnds(t *testing.T) {
	var url string
	t.Run("uses a database", func(t *testing.T) {
		url = pgtest.New(t)
		connect(t, url)
	})
	if conn, err := pgx.Connect(t.Context(), url); err == nil {
		_ = conn.Close(t.Context())
		t.Error("the database still exists")
	}
}

func TestNewCluster_IsDurableAndMigrated(t *testing.T) {
	t.Parallel()
	server := pgtest.NewCluster(t, map[string]string{"max_connections": "20"})
	url := pgtest.NewOn(t, server)
	if _, err := connect(t, url).Exec(t.Context(), "CREATE TABLE kept AS SELECT 7 AS value"); err != nil {
		t.Fatal(err)
	}

	server.Kill()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	var value, connections string
	row := connect(t, url).QueryRow(t.Context(), "SELECT value::text, current_setting('max_connections') FROM kept")
	if err := row.Scan(&value, &connections); err != nil {
		t.Fatal(err)
	}
	if value != "7" || connections != "20" {
		t.Errorf("value = %s, max_connections = %s; want 7 and 20", value, connections)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		b.Run("", func(b *testing.B) { pgtest.New(b) })
	}
}
