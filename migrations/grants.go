package migrations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The roles that `orders migrate up` grants privileges to. Logins of any name are their
// members, so that no installation needs other names for these two.
const (
	ServiceGroup  = "orders_service"
	OperatorGroup = "orders_operator"
)

// ErrNoRole reports that the role does not exist and that the migrating role may not
// create it. Nothing was granted.
var ErrNoRole = errors.New("the role does not exist, and this role may not create it")

// tableAccess lists a table's privileges, besides SELECT.
type tableAccess struct {
	table          string
	insert, delete bool
	update         string // columns
}

// tables lists exactly the privileges that `orders serve` needs: it never changes a
// stored amount, ledger entry or audit entry. SELECT … FOR UPDATE needs one updatable
// column, even in tables whose rows never change.
//
// During an upgrade, the previous binary also works with these privileges. So an
// unneeded privilege is revoked one version later.
var tables = []tableAccess{
	{table: "audit_log", insert: true},
	{table: "balance", insert: true, update: "amount, position, changed_at"},
	{table: "customer_profile", insert: true, update: "full_name, email, phone, updated_at", delete: true},
	{table: "idempotency_record", insert: true, update: "expires_at", delete: true}, // locked before DELETE
	{table: "incarnation", update: "id, database"},
	{table: "ledger_entry", insert: true},
	{table: "message_memory", update: "forgotten_until"},
	{table: "order_item", insert: true},
	{table: "orders", insert: true,
		update: "status, reserved_until, version, updated_at, cancelled_by, cancel_key, cancel_reason"},
	{table: "outbox", insert: true, update: "published_at", delete: true},
	{table: "payment", insert: true, update: "status, external_payment_id, failure, asked_at"},
	{table: "processed_message", insert: true, update: "processed_at, sent_until", delete: true},
	{table: "product", insert: true, update: "name, price, currency, on_hand, reserved, version, updated_at"},
	{table: "reconciliation", update: "version, position, found, mismatches, finished_at"},
	{table: "refund", insert: true, update: "status, external_refund_id, failure, asked_at"},
	{table: "relay_lease", update: "holder, until"},
	{table: "reservation_extension", insert: true},
	{table: "schema_migrations"},
	{table: "stock_adjustment", insert: true},
}

// sequences are those for allocated ids. The other tables' sequences need no privilege.
var sequences = []string{
	"ledger_entry_id_seq", "orders_id_seq", "payment_id_seq", "product_id_seq", "refund_id_seq", "stock_adjustment_id_seq",
}

func (a tableAccess) privileges() string {
	granted := []string{"SELECT"}
	if a.insert {
		granted = append(granted, "INSERT")
	}
	if a.delete {
		granted = append(granted, "DELETE")
	}
	if a.update != "" {
		granted = append(granted, "UPDATE ("+a.update+")")
	}
	return strings.Join(granted, ", ")
}

// Grant grants a role the privileges that the service needs, and revokes all others on
// the same objects. It creates a missing role. Several processes may call it at once,
// also on several databases in one cluster.
func Grant(ctx context.Context, databaseURL, role string) error {
	return grantTo(ctx, databaseURL, role, target.statements)
}

// GrantOperators is [Grant] for the operators' commands.
func GrantOperators(ctx context.Context, databaseURL, role string) error {
	return grantTo(ctx, databaseURL, role, target.operatorStatements)
}

func grantTo(ctx context.Context, databaseURL, role string, statements func(t target, role string) []string) error {
	conn, err := connect(ctx, databaseURL, "grants")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // releases the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", upLock); err != nil {
		return fmt.Errorf("wait for other migrations: %w", err)
	}
	if err := ensureRole(ctx, conn, role); err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return grant(ctx, tx, role, statements) })
	if err != nil {
		return fmt.Errorf("grant %s its privileges: %w", role, err)
	}
	return nil
}

// Grants returns the statements that [Grant] and [GrantOperators] execute for a role r.
func Grants() []string {
	t := target{schema: "public", database: "orders", ownsSchema: true, ownsDatabase: true, ownsFunctions: true}
	return slices.Concat(t.statements("r"), t.operatorStatements("r"))
}

// ensureRole creates a missing role. Roles belong to the cluster, so another database
// may create it concurrently.
func ensureRole(ctx context.Context, conn *pgx.Conn, role string) error {
	var exists bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", role).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE ROLE "+quote(role)+" NOLOGIN")
	failed, _ := errors.AsType[*pgconn.PgError](err)
	switch {
	case failed == nil:
		return err
	case failed.Code == "42710" || failed.Code == "23505": // duplicate_object, unique_violation
		return nil
	case failed.Code == "42501": // insufficient_privilege
		return ErrNoRole
	}
	return fmt.Errorf("create the role %s: %w", role, err)
}

// target is where privileges are granted. Owns… report whether this role may do so.
type target struct {
	schema, database                        string
	ownsSchema, ownsDatabase, ownsFunctions bool
	// roleOwns reports that the role owns the tables or can become their owner. Revoking
	// its privileges would revoke the owner's.
	roleOwns bool
}

func grant(ctx context.Context, tx pgx.Tx, role string, statements func(t target, role string) []string) error {
	var t target
	err := tx.QueryRow(ctx, `SELECT n.nspname, d.datname, pg_has_role(n.nspowner, 'USAGE'), pg_has_role(d.datdba, 'USAGE'),
			(SELECT pg_has_role(proowner, 'USAGE') FROM pg_proc WHERE oid = 'pg_catalog.lo_create'::regproc),
			pg_has_role($1, c.relowner, 'MEMBER')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_database d
		WHERE c.oid = 'schema_migrations'::regclass AND d.datname = current_database()`, role,
	).Scan(&t.schema, &t.database, &t.ownsSchema, &t.ownsDatabase, &t.ownsFunctions, &t.roleOwns)
	if err != nil {
		return err
	}
	if t.roleOwns {
		return errors.New("it owns the tables, or can become their owner")
	}
	for _, statement := range statements(t, quote(role)) {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// statements returns the statements for a role. River's tables may change with its
// versions.
func (t target) statements(role string) []string {
	from, to := " FROM "+role, " TO "+role
	schemas := "SCHEMA " + quote(t.schema) + ", " + RiverSchema
	list := []string{"REVOKE ALL ON " + schemas + from, "GRANT USAGE ON " + schemas + to}
	for _, a := range tables {
		list = append(list, "REVOKE ALL ON "+a.table+from, "GRANT "+a.privileges()+" ON "+a.table+to)
	}
	ids := strings.Join(sequences, ", ")
	const ofRiver = " IN SCHEMA " + RiverSchema
	list = append(list,
		"REVOKE ALL ON SEQUENCE "+ids+from, "GRANT USAGE ON SEQUENCE "+ids+to,
		"REVOKE ALL ON ALL TABLES"+ofRiver+from, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES"+ofRiver+to,
		"REVOKE INSERT, UPDATE, DELETE ON "+RiverSchema+".river_migration"+from,
		"REVOKE ALL ON ALL SEQUENCES"+ofRiver+from, "GRANT USAGE ON ALL SEQUENCES"+ofRiver+to,
		"GRANT EXECUTE ON ALL FUNCTIONS"+ofRiver+to,
	)
	return slices.Concat(list, t.closeToPublic(from, to))
}

// operatorStatements grants exactly what the operators' commands need. That reaches
// neither personal data nor stored responses, and changes nothing but jobs.
func (t target) operatorStatements(role string) []string {
	from, to := " FROM "+role, " TO "+role
	schemas := "SCHEMA " + quote(t.schema) + ", " + RiverSchema
	list := []string{
		"REVOKE ALL ON " + schemas + from, "GRANT USAGE ON " + schemas + to,
		"REVOKE ALL ON ALL TABLES IN SCHEMA " + RiverSchema + from, "REVOKE ALL ON ALL SEQUENCES IN SCHEMA " + RiverSchema + from,
		"REVOKE ALL ON SEQUENCE " + strings.Join(sequences, ", ") + from,
	}
	for _, a := range tables {
		list = append(list, "REVOKE ALL ON "+a.table+from)
	}
	list = append(list,
		"GRANT SELECT ON balance, ledger_entry, order_item, orders, payment, product, refund"+to,
		"GRANT SELECT, UPDATE (finalized_at, max_attempts, scheduled_at, state) ON "+RiverSchema+".river_job"+to,
		"GRANT INSERT ON audit_log"+to)
	return slices.Concat(list, t.closeToPublic(from, to))
}

// largeObjects are the functions that create large objects. PostgreSQL has no other
// privilege for that, and lets PUBLIC execute them.
const largeObjects = "pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid), pg_catalog.lo_from_bytea(oid, bytea)"

// closeToPublic keeps every role, including the service's, from creating objects.
// PostgreSQL lets PUBLIC create temporary tables and large objects, and before version
// 15 all tables. Only a superuser can revoke the large object functions.
func (t target) closeToPublic(from, to string) (list []string) {
	if t.ownsSchema {
		list = append(list, "REVOKE CREATE ON SCHEMA "+quote(t.schema)+" FROM PUBLIC")
	}
	if t.ownsFunctions {
		list = append(list, "REVOKE EXECUTE ON FUNCTION "+largeObjects+" FROM PUBLIC")
	}
	if t.ownsDatabase {
		database := " ON DATABASE " + quote(t.database)
		list = append(list, "REVOKE CREATE, TEMPORARY"+database+" FROM PUBLIC",
			"REVOKE ALL"+database+from, "GRANT CONNECT"+database+to)
	}
	return list
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
