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

// grant grants the privileges of both roles, which exist.
func grant(t *testing.T, owner string) {
	t.Helper()
	if missing, err := migrations.Grant(t.Context(), owner); err != nil || len(missing) > 0 {
		t.Fatalf("missing %q, %v", missing, err)
	}
}

// newGranted returns the URL of a database with what `orders migrate up` grants, also on
// the database itself: a copy of a template has none of that.
func newGranted(t *testing.T) string {
	t.Helper()
	owner := pgtest.New(t)
	grant(t, owner)
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
	"SELECT secret FROM webhook_endpoint",
	"SELECT previous_secret FROM webhook_endpoint",
	"UPDATE webhook_endpoint SET url = 'https://example.com'",
	"SELECT body FROM webhook_delivery",
	"UPDATE webhook_delivery SET body = '{}'",
	"SELECT nextval('orders_id_seq')",
}

func TestOperatorRole_MayNot(t *testing.T) {
	t.Parallel()
	owner := newGranted(t)
	execute(t, owner, "GRANT ALL ON ALL TABLES IN SCHEMA public, river TO orders_operator",
		"GRANT ALL ON ALL SEQUENCES IN SCHEMA public, river TO orders_operator")
	grant(t, owner)
	operator := connect(t, pgtest.AsOperator(t, owner))
	for _, statement := range slices.Concat(forbidden, forbiddenToOperators) {
		_, err := operator.Exec(t.Context(), statement)
		wantNotAllowed(t, statement, err)
	}
}

func TestGrant_LeavesNothingMissing(t *testing.T) {
	t.Parallel()
	p := privileges(t, pgtest.AsService(t, newGranted(t)))
	if p.Role != pgtest.ServiceRole || p.Err() != nil {
		t.Errorf("%s lacks %q", p.Role, p.Missing)
	}
}

// A new table needs a decision: what may the service do with it?
func TestGrant_KnowsEveryTable(t *testing.T) {
	t.Parallel()
	conn := connect(t, newGranted(t))
	rows, _ := conn.Query(t.Context(), `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
		AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT has_table_privilege('orders_service', oid, 'SELECT') ORDER BY 1`)
	unknown, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if len(unknown) > 0 {
		t.Errorf("migrations/grants/grants.sql does not say what the service may do with %q", unknown)
	}
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
			if !slices.Contains(p.Missing, want) {
				t.Errorf("missing %q, want %q", p.Missing, want)
			}
			if err := p.Err(); err == nil || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "orders migrate up") ||
				!strings.Contains(err.Error(), `GRANT "orders_service" TO "orders_app"`) {
				t.Errorf("the error does not say what to do: %v", err)
			}
		})
	}
}

// Where JIT is on, as behind a pooler, PostgreSQL compiles what it expects to be much work.
// That took the check half a second, each time that somebody asked for readiness.
func TestCheckPrivileges_IsNotCompiled(t *testing.T) {
	t.Parallel()
	conn := connect(t, newGranted(t))
	var most float64
	if err := conn.QueryRow(t.Context(), "SELECT current_setting('jit_above_cost')::float8").Scan(&most); err != nil {
		t.Fatal(err)
	}
	if cost, err := migrations.PrivilegesCost(t.Context(), conn); err != nil || cost <= 0 || cost > most {
		t.Errorf("the check costs %.0f, %v; want %.0f at most", cost, err, most)
	}
}

// The check reads what the file grants, which a statement in another form would hide.
func TestCheckPrivileges_KnowsEveryPrivilege(t *testing.T) {
	t.Parallel()
	owner := newGranted(t)
	rows, _ := connect(t, owner).Query(t.Context(), `
		SELECT p.privilege_type || coalesce(' (' || string_agg(attname, ', ' ORDER BY attname) || ')', '') || ' ON ' || name FROM (
			SELECT oid::regclass::text, NULL::name, relacl FROM pg_class WHERE relnamespace IN ('public'::regnamespace, 'river'::regnamespace)
			UNION ALL SELECT attrelid::regclass::text, attname, attacl FROM pg_attribute
		) o (name, attname, acl), aclexplode(o.acl) p
		WHERE p.grantee = 'orders_service'::regrole GROUP BY p.privilege_type, name ORDER BY 1`)
	granted, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(granted) == 0 {
		t.Fatalf("%d privileges, %v", len(granted), err)
	}
	role := newRole(t, owner, "LOGIN")

	missing := privileges(t, strings.Replace(owner, "postgres@", role+"@", 1)).Missing

	missing = slices.DeleteFunc(missing, func(p string) bool { return strings.Contains(p, " ON SCHEMA ") })
	slices.Sort(granted)
	slices.Sort(missing)
	if diff := cmp.Diff(granted, missing); diff != "" {
		t.Errorf("privileges (-granted +missing):\n%s", diff)
	}
}

func TestPrivileges_ErrNamesAFewOfMany(t *testing.T) {
	t.Parallel()
	owner := newGranted(t)
	role := newRole(t, owner, "LOGIN")
	p := privileges(t, strings.Replace(owner, "postgres@", role+"@", 1))
	err := p.Err()
	want := fmt.Sprintf(`the database role %q lacks %s and %d more privileges: `, role, strings.Join(p.Missing[:3], ", "), len(p.Missing)-3)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v\nwant  %s", err, want)
	}
}

// What somebody has granted by hand does not outlive a migration.
func TestGrant_RevokesWhatIsNotListed(t *testing.T) {
	t.Parallel()
	owner := newGranted(t)
	before := held(t, owner)
	execute(t, owner, "GRANT ALL ON ALL TABLES IN SCHEMA public, river TO orders_service, orders_operator",
		"GRANT UPDATE (amount) ON payment TO orders_service, orders_operator",
		"GRANT ALL ON SEQUENCE orders_id_seq TO orders_service, orders_operator",
		"GRANT ALL ON SCHEMA public, river TO orders_service, orders_operator", "GRANT CREATE ON SCHEMA public TO PUBLIC")
	grant(t, owner)
	if diff := cmp.Diff(before, held(t, owner)); diff != "" {
		t.Errorf("privileges (-before +after):\n%s", diff)
	}
}

// held returns the privileges of both roles, and of everybody.
func held(t *testing.T, owner string) []string {
	t.Helper()
	rows, _ := connect(t, owner).Query(t.Context(), `
		SELECT object || ' ' || p.privilege_type || ' ' || p.grantee::regrole FROM (
			SELECT oid::regclass::text, relacl FROM pg_class WHERE relnamespace IN ('public'::regnamespace, 'river'::regnamespace)
			UNION ALL SELECT attrelid::regclass || '.' || attname, attacl FROM pg_attribute
			UNION ALL SELECT nspname::text, nspacl FROM pg_namespace WHERE nspname IN ('public', 'river')
		) o (object, acl), aclexplode(o.acl) p WHERE p.grantee IN ('orders_service'::regrole, 'orders_operator'::regrole, 0) ORDER BY 1`)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(found) == 0 {
		t.Fatalf("%d privileges, %v", len(found), err)
	}
	return found
}

// Roles belong to the cluster, so that migrations of several databases create them.
func TestGrant_CreatesRolesThatOthersCreateAtTheSameTime(t *testing.T) {
	t.Parallel()
	server := pgtest.StartCluster(t, devpostgres.Config{}) // has none of them
	execute(t, server.URL("postgres"), "CREATE DATABASE one")
	if err := migrations.Up(t.Context(), server.URL("one")); err != nil {
		t.Fatal(err)
	}
	databases := []string{"one", "two", "three", "four"}
	for _, database := range databases[1:] {
		execute(t, server.URL("postgres"), "CREATE DATABASE "+database+" TEMPLATE one")
	}
	ends := make(chan error, len(databases))
	for _, database := range databases {
		go func() {
			_, err := migrations.Grant(t.Context(), server.URL(database))
			ends <- err
		}()
	}
	for range databases {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
}

func TestGrant_RefusesTheOwner(t *testing.T) {
	t.Parallel()
	owner := pgtest.New(t)
	execute(t, owner, "ALTER TABLE schema_migrations OWNER TO orders_service")

	_, err := migrations.Grant(t.Context(), owner)

	if err == nil || !strings.Contains(err.Error(), "orders_service owns the tables") {
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
	if err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	grant(t, owner)

	service := connect(t, server.URLAs("orders_app", "orders"))

	_, err = service.Exec(t.Context(), "SELECT lo_create(0)")
	wantNotAllowed(t, "a large object", err)
	for _, other := range []string{"postgres", "template1"} {
		_, err := pgx.Connect(t.Context(), server.URLAs("orders_app", other))
		wantNotAllowed(t, "the database "+other, err)
	}
	if p := privileges(t, server.URLAs("orders_app", "orders")); len(p.Missing) > 0 {
		t.Errorf("missing %q", p.Missing)
	}
}
