package process_test

import (
	"fmt"
	"os/exec"
	"testing"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/migrations"
)

// newestVersion returns the schema version that the binary needs.
func newestVersion(t testing.TB) uint {
	t.Helper()
	version, err := migrations.Newest()
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// versionLine is what `orders migrate` prints.
func versionLine(t testing.TB, version uint) string {
	t.Helper()
	return fmt.Sprintf("schema version %d of %d\n", version, newestVersion(t))
}

// emptyDatabase drops everything in the database of the test.
func emptyDatabase(t testing.TB, env *e2e.Env) {
	t.Helper()
	env.Exec(t, `DROP SCHEMA public CASCADE`)
	env.Exec(t, `CREATE SCHEMA public`)
	env.Exec(t, `DROP SCHEMA IF EXISTS river CASCADE`)
}

// countObjects counts the tables, schemas and types of the database, without those of
// the migration tool.
func countObjects(t testing.TB, env *e2e.Env) int {
	t.Helper()
	return env.Count(t, `
		SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') AND c.relname NOT LIKE 'schema_migrations%'`) +
		env.Count(t, `SELECT count(*) FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' AND nspname NOT IN ('public', 'information_schema')`) +
		env.Count(t, `SELECT count(*) FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE n.nspname = 'public' AND t.typname NOT LIKE '%schema_migrations'`)
}

func TestMigrate_GoesUpAndDownAndUp(t *testing.T) {
	t.Parallel()
	binary, env := e2e.BuildOrders(t), e2e.NewEnv(t)
	emptyDatabase(t, env)
	migrate := func(direction string, version uint) {
		t.Helper()
		if got, want := output(t, binary, env.OwnerEnviron(t), "migrate", direction), versionLine(t, version); got != want {
			t.Errorf("orders migrate %s: %q, want %q", direction, got, want)
		}
	}
	newest := newestVersion(t)
	migrate("version", 0)
	migrate("up", newest)
	migrate("up", newest)
	migrate("version", newest)
	if countObjects(t, env) == 0 {
		t.Fatal("after up the database is empty")
	}
	for version := newest; version > 0; version-- {
		migrate("down", version-1)
	}
	if n := countObjects(t, env); n != 0 {
		t.Errorf("down leaves %d objects in the database", n)
	}
	migrate("up", newest)
	env.StartReplica(t).Credit(t, e2e.Alice, "1.00")
}

func TestDatabaseURL_WorksForEveryCommand(t *testing.T) {
	t.Parallel()
	orders := e2e.BuildOrders(t)
	for name, pool := range map[string]map[string]string{
		"one connection": {"pool_max_conns": "1"},
		"every parameter of the pool": {
			"pool_max_conns": "20", "pool_min_conns": "6", "pool_min_idle_conns": "6",
			"pool_max_conn_lifetime": "1h", "pool_max_conn_lifetime_jitter": "1m", "pool_max_conn_idle_time": "30m",
			"pool_health_check_period": "1m", "pool_ping_timeout": "5s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := e2e.NewEnv(t)
			emptyDatabase(t, env)
			for parameter, value := range pool {
				env.DatabaseURL = e2e.WithParameter(t, env.DatabaseURL, parameter, value)
			}
			newest := newestVersion(t)
			for _, c := range []struct {
				command string
				want    uint
			}{{"up", newest}, {"version", newest}, {"down", newest - 1}, {"up", newest}} {
				if got, want := output(t, orders, env.OwnerEnviron(t), "migrate", c.command), versionLine(t, c.want); got != want {
					t.Errorf("orders migrate %s: %q, want %q", c.command, got, want)
				}
			}
			s := env.ServiceOf(env.StartProcess(t, orders))
			s.Credit(t, e2e.Alice, "1.00")
		})
	}
}

func TestMigrate_RunsConcurrently(t *testing.T) {
	t.Parallel()
	const processes = 4
	binary, env := e2e.BuildOrders(t), e2e.NewEnv(t)
	emptyDatabase(t, env)
	ends := make(chan error, processes)
	for range processes {
		cmd := exec.CommandContext(t.Context(), binary, "migrate", "up")
		cmd.Env = append(systemEnviron(), env.OwnerEnviron(t)...)
		go func() { ends <- cmd.Run() }()
	}
	for range processes {
		if err := e2e.Receive(t, ends, "a migration ends"); err != nil {
			t.Error(err)
		}
	}
	if got, want := output(t, binary, env.OwnerEnviron(t), "migrate", "version"), versionLine(t, newestVersion(t)); got != want {
		t.Errorf("orders migrate version: %q, want %q", got, want)
	}
}
