package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	devpostgres "example.com/orders/internal/dev/postgres"
	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/migrations"
)

const group = "orders_service"

// connect returns a connection that is closed at the end of the test.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// newGranted returns the URL of a database with what `orders migrate up` grants, also on
// the database itself: a copy of a template has none of that.
func newGranted(t *testing.T) string {
	t.Helper()
	owner := pgtest.New(t)
	if err := migrations.Grant(t.Context(), owner, group); err != nil {
		t.Fatal(err)
	}
	return owner
}

// privileges returns how the privileges of a role differ from what the service needs.
func privileges(t *testing.T, url string) migrations.Privileges {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	p, err := migrations.CheckPrivileges(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const notAllowed = "42501" // insufficient_privilege

// forbidden are statements that the role of the service must not execute.
var forbidden = []string{
	// the schema
	"DROP TABLE audit_log",
	"DROP SCHEMA river CASCADE",
	"DROP INDEX payment_one_live",
	"ALTER TABLE payment DROP CONSTRAINT payment_provider_external_payment_id_key",
	"ALTER TABLE audit_log RENAME TO forgotten",
	"ALTER TABLE ledger_entry DISABLE TRIGGER ALL",
	"ALTER TABLE ledger_entry OWNER TO CURRENT_USER",
	"CREATE TABLE mine (id int)",
	"CREATE TEMPORARY TABLE orders (id int)",
	"CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
	"CREATE TRIGGER t BEFORE INSERT ON ledger_entry FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
	"CREATE RULE r AS ON INSERT TO audit_log DO INSTEAD NOTHING",
	"CREATE INDEX ON orders (total)",
	"UPDATE schema_migrations SET version = 1",
	"DELETE FROM river.river_migration",
	// rows that are only ever added
	"TRUNCATE ledger_entry",
	"TRUNCATE audit_log",
	"TRUNCATE orders CASCADE",
	"UPDATE ledger_entry SET amount = 1",
	"DELETE FROM ledger_entry",
	"SELECT FROM ledger_entry FOR UPDATE",
	"UPDATE audit_log SET actor = 'nobody'",
	"DELETE FROM audit_log",
	"UPDATE order_item SET unit_price = 1",
	"DELETE FROM order_item",
	"UPDATE stock_adjustment SET change = 1",
	"DELETE FROM stock_adjustment",
	"DELETE FROM reservation_extension",
	// amounts, and whose they are
	"UPDATE payment SET amount = 1",
	"UPDATE payment SET order_id = 1",
	"UPDATE payment SET idempotency_key = ''",
	"DELETE FROM payment",
	"UPDATE refund SET amount = 1",
	"UPDATE refund SET payment_id = 1",
	"DELETE FROM refund",
	"UPDATE orders SET total = 1",
	"UPDATE orders SET customer_id = 'me'",
	"DELETE FROM orders",
	"UPDATE balance SET customer_id = 'me'",
	"DELETE FROM balance",
	"DELETE FROM product",
	"UPDATE idempotency_record SET body = ''",
	"UPDATE outbox SET data = '{}'",
	"SELECT setval('orders_id_seq', 1)",
	// more privileges
	"GRANT postgres TO CURRENT_USER",
	"ALTER DEFAULT PRIVILEGES FOR ROLE postgres GRANT ALL ON TABLES TO PUBLIC",
	"SET ROLE postgres",
	"SET SESSION AUTHORIZATION postgres",
	"ALTER ROLE CURRENT_USER SUPERUSER",
	"CREATE ROLE mine",
	"SET session_replication_role = replica",
	"ALTER SYSTEM SET fsync = off",
	// the server
	"COPY audit_log TO PROGRAM 'cat'",
	"COPY audit_log TO '/tmp/audit_log'",
	"SELECT pg_read_file('/etc/passwd')",
	"SELECT lo_export(1, '/tmp/large')",
	"SELECT lo_create(0)",
	"CREATE EXTENSION pg_stat_statements",
}

func TestServiceRole_MayNot(t *testing.T) {
	t.Parallel()
	owner := newGranted(t)
	service := connect(t, pgtest.AsService(t, owner))
	for _, statement := range forbidden {
		t.Run(statement, func(t *testing.T) {
			_, err := service.Exec(t.Context(), statement)
			if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != notAllowed {
				t.Errorf("err = %v, want %s", err, notAllowed)
			}
		})
	}
}

// forbiddenToOperators are more statements that an operator's role must not execute.
var forbiddenToOperators = []string{
	"UPDATE payment SET status = 'captured'",
	"UPDATE orders SET status = 'paid'",
	"UPDATE product SET on_hand = 1",
	"UPDATE balance SET amount = 1",
	"INSERT INTO ledger_entry DEFAULT VALUES",
	"UPDATE reconciliation SET mismatches = 0",
	"UPDATE river.river_job SET args = '{}'",
	"INSERT INTO river.river_job DEFAULT VALUES",
	"DELETE FROM river.river_job",
	"SELECT FROM customer_profile",
	"SELECT FROM idempotency_record",
	"SELECT FROM audit_log",
	"SELECT FROM outbox",
	"SELECT nextval('orders_id_seq')",
}

func TestOperatorRole_MayNot(t *testing.T) {
	t.Parallel()
	owner := newGranted(t)
	execute(t, owner, "GRANT ALL ON ALL TABLES IN SCHEMA public, river TO orders_operator",
		"GRANT ALL ON ALL SEQUENCES IN SCHEMA public, river TO orders_operator")
	if err := migrations.GrantOperators(t.Context(), owner, "orders_operator"); err != nil {
		t.Fatal(err)
	}
	operator := connect(t, pgtest.AsOperator(t, owner))
	for _, statement := range slices.Concat(forbidden, forbiddenToOperators) {
		_, err := operator.Exec(t.Context(), statement)
		wantNotAllowed(t, statement, err)
	}
}

// A role that works is no proof that it has no more than it needs.
func TestGrant_LeavesNothingMissingAndNothingInExcess(t *testing.T) {
	t.Parallel()
	p := privileges(t, pgtest.AsService(t, newGranted(t)))
	if diff := cmp.Diff(migrations.Privileges{Role: pgtest.ServiceRole}, p); diff != "" {
		t.Errorf("privileges (-want +got):\n%s", diff)
	}
	if err := p.Err(group); err != nil {
		t.Error(err)
	}
}

// A new table needs a decision: what may the service do with it?
func TestGrant_KnowsEveryTable(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	rows, _ := conn.Query(t.Context(), `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1`)
	existing, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string]bool{}
	for _, statement := range migrations.Grants() {
		if _, object, isTable := strings.Cut(statement, "REVOKE ALL ON "); isTable {
			table, _, _ := strings.Cut(object, " ")
			granted[table] = true
		}
	}
	for _, table := range existing {
		if !granted[table] {
			t.Errorf("migrations/grants.go does not say what the service may do with the table %s", table)
		}
	}
}

func TestCheckPrivileges_NamesWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string][]string{
		"GRANT DELETE ON audit_log TO orders_extra":                  {"DELETE ON audit_log"},
		"GRANT TRUNCATE, TRIGGER ON ledger_entry TO orders_extra":    {"TRIGGER ON ledger_entry", "TRUNCATE ON ledger_entry"},
		"GRANT UPDATE (amount, order_id) ON payment TO orders_extra": {"UPDATE (amount, order_id) ON payment"},
		"GRANT REFERENCES ON orders TO orders_extra":                 {"REFERENCES ON orders"},
		"GRANT INSERT ON schema_migrations TO PUBLIC":                {"INSERT ON schema_migrations"},
		"GRANT UPDATE ON SEQUENCE orders_id_seq TO orders_extra":     {"UPDATE ON orders_id_seq"},
		"ALTER TABLE balance OWNER TO orders_extra":                  {"OWNER OF balance"},
		"ALTER TABLE river.river_job OWNER TO orders_extra":          {"OWNER OF river.river_job"},
		"GRANT CREATE ON SCHEMA public TO orders_extra":              {"CREATE ON SCHEMA public"},
		"GRANT CREATE ON SCHEMA river TO orders_extra":               {"CREATE ON SCHEMA river"},
		"DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO orders_extra', current_database()); END $$": {
			"CREATE ON DATABASE "},
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			url := newExtraRole(t, statement)
			got := privileges(t, url)
			if len(got.Missing) > 0 || !slices.EqualFunc(got.Excess, want, strings.HasPrefix) {
				t.Errorf("excess %q, missing %q, want the excess %q", got.Excess, got.Missing, want)
			}
		})
	}
}

// newExtraRole returns the URL of a database for a role of its own that has the privileges
// of the service, and what a statement grants to orders_extra.
func newExtraRole(t *testing.T, statement string) string {
	t.Helper()
	owner := newGranted(t)
	role := newRole(t, owner, "LOGIN IN ROLE "+group)
	execute(t, owner, strings.ReplaceAll(statement, "orders_extra", role))
	return strings.Replace(owner, "postgres@", role+"@", 1)
}

// newRole creates a role for this test alone.
func newRole(t *testing.T, owner, attributes string) (role string) {
	t.Helper()
	role = "role_" + strings.TrimPrefix(connect(t, owner).Config().Database, "test_")
	execute(t, owner, "CREATE ROLE "+role+" "+attributes)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), owner)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close(context.Background()) }()
		if _, err := conn.Exec(context.Background(), "REASSIGN OWNED BY "+role+" TO postgres; DROP OWNED BY "+role+
			"; DROP ROLE "+role); err != nil {
			t.Error(err)
		}
	})
	return role
}

func TestCheckPrivileges_NamesPowerfulRoles(t *testing.T) {
	t.Parallel()
	for attributes, want := range map[string]string{
		"LOGIN SUPERUSER":                                         "SUPERUSER",
		"LOGIN IN ROLE postgres":                                  "SUPERUSER",
		"LOGIN NOINHERIT IN ROLE postgres":                        "SUPERUSER",
		"LOGIN CREATEROLE IN ROLE orders_service":                 "CREATEROLE",
		"LOGIN IN ROLE orders_service, pg_write_server_files":     "MEMBER OF pg_write_server_files",
		"LOGIN IN ROLE orders_service, pg_read_server_files":      "MEMBER OF pg_read_server_files",
		"LOGIN IN ROLE orders_service, pg_execute_server_program": "MEMBER OF pg_execute_server_program",
	} {
		t.Run(attributes, func(t *testing.T) {
			t.Parallel()
			owner := newGranted(t)
			role := newRole(t, owner, attributes)
			got := privileges(t, strings.Replace(owner, "postgres@", role+"@", 1)).Excess
			if diff := cmp.Diff([]string{want}, got); diff != "" {
				t.Errorf("excess (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckPrivileges_NamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"REVOKE INSERT ON ledger_entry FROM orders_service":                 "INSERT ON ledger_entry",
		"REVOKE UPDATE (status) ON orders FROM orders_service":              "UPDATE (status) ON orders",
		"REVOKE USAGE ON SEQUENCE orders_id_seq FROM orders_service":        "USAGE ON orders_id_seq",
		"REVOKE USAGE ON ALL SEQUENCES IN SCHEMA river FROM orders_service": "USAGE ON river.river_job_id_seq",
		"REVOKE USAGE ON SCHEMA river FROM orders_service":                  "USAGE ON SCHEMA river",
		"REVOKE USAGE ON SCHEMA public FROM orders_service, PUBLIC":         `USAGE ON SCHEMA "$user", public`,
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			owner := newGranted(t)
			execute(t, owner, statement)
			p := privileges(t, pgtest.AsService(t, owner))
			if len(p.Excess) > 0 || !slices.Contains(p.Missing, want) {
				t.Errorf("missing %q, excess %q, want %q missing", p.Missing, p.Excess, want)
			}
			if err := p.Err(group); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "orders migrate up") ||
				!strings.Contains(err.Error(), `GRANT "orders_service" TO "orders_app"`) {
				t.Errorf("the error does not say what to do: %v", err)
			}
		})
	}
}

func TestPrivileges_ErrNamesAFewOfMany(t *testing.T) {
	t.Parallel()
	owner := newGranted(t)
	role := newRole(t, owner, "LOGIN")
	p := privileges(t, strings.Replace(owner, "postgres@", role+"@", 1))
	err := p.Err(group)
	want := fmt.Sprintf(`the database role %q lacks %s and %d more privileges: `, role, strings.Join(p.Missing[:3], ", "), len(p.Missing)-3)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v\nwant  %s", err, want)
	}
}

// What somebody has granted by hand does not outlive a migration.
func TestGrant_RevokesWhatIsNotListed(t *testing.T) {
	t.Parallel()
	owner := newGranted(t)
	execute(t, owner, "GRANT ALL ON ALL TABLES IN SCHEMA public TO orders_service", "GRANT UPDATE (amount) ON payment TO orders_service",
		"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO orders_service", "GRANT ALL ON SCHEMA public, river TO orders_service",
		"GRANT CREATE ON SCHEMA public TO PUBLIC")
	if err := migrations.Grant(t.Context(), owner, group); err != nil {
		t.Fatal(err)
	}
	if p := privileges(t, pgtest.AsService(t, owner)); len(p.Excess) > 0 {
		t.Errorf("excess %q", p.Excess)
	}
}

// Roles belong to the cluster, so that migrations of several databases create one.
func TestGrant_CreatesARoleThatOthersCreateAtTheSameTime(t *testing.T) {
	t.Parallel()
	const databases = 4
	var urls []string
	for range databases {
		urls = append(urls, pgtest.New(t))
	}
	role := "role_" + strings.TrimPrefix(connect(t, urls[0]).Config().Database, "test_")
	ends := make(chan error, databases)
	for _, url := range urls {
		go func() { ends <- migrations.Grant(t.Context(), url, role) }()
	}
	for range databases {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	for _, url := range urls {
		execute(t, url, "DROP OWNED BY "+role)
	}
	execute(t, urls[0], "DROP ROLE "+role)
}

func TestGrant_RefusesTheOwner(t *testing.T) {
	t.Parallel()
	owner := pgtest.New(t)
	err := migrations.Grant(t.Context(), owner, "postgres")
	if err == nil || !strings.Contains(err.Error(), "it owns the tables") {
		t.Errorf("err = %v", err)
	}
}

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
	if err := errors.Join(migrations.Up(t.Context(), owner), migrations.Grant(t.Context(), owner, "orders_service"),
		migrations.GrantOperators(t.Context(), owner, "orders_operator")); err != nil {
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
