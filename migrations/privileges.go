package migrations

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Privileges is the difference between a role's privileges and those that the service
// needs.
type Privileges struct {
	// Role is the session's role.
	Role string
	// Missing and Excess name privileges, such as "DELETE ON audit_log". A superuser
	// has the single excess "SUPERUSER".
	Missing, Excess []string
}

// maxNamed bounds the privileges that an error names. A role outside the group lacks
// all.
const maxNamed = 3

// Err explains how to grant missing privileges, or returns nil. granted is the role
// that [Grant] grants to.
func (p Privileges) Err(granted string) error {
	if len(p.Missing) == 0 {
		return nil
	}
	named := p.Missing[:min(len(p.Missing), maxNamed)]
	more := ""
	if n := len(p.Missing) - len(named); n > 0 {
		more = fmt.Sprintf(" and %d more privileges", n)
	}
	return fmt.Errorf("the database role %s lacks %s%s: run `orders migrate up` as the owner of the tables, "+
		"and execute GRANT %s TO %[1]s as a superuser", quote(p.Role), strings.Join(named, ", "), more, quote(granted))
}

// privilegesQuery reads only the catalog, so that every role may execute it. It returns
// the role, whether a privilege is in excess or missing, and the privilege. One row has
// none.
const privilegesQuery = `
WITH needed AS (
	SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) n (name, privilege, col)
), relation AS (
	SELECT c.oid, n.name, c.relnamespace, c.relkind = 'S' AS sequence, pg_has_role(c.relowner, 'MEMBER') AS owned
	FROM (SELECT DISTINCT name FROM needed) n JOIN pg_class c ON c.oid = to_regclass(n.name)
), schema AS (
	SELECT oid, nspname AS name FROM pg_namespace WHERE nspname = $4::text OR oid IN (SELECT relnamespace FROM relation)
), of_river AS (
	SELECT c.oid, s.name || '.' || c.relname AS name, c.relkind = 'S' AS sequence,
		c.relname = 'river_migration' AS constant, pg_has_role(c.relowner, 'MEMBER') AS owned
	FROM pg_class c JOIN schema s ON s.oid = c.relnamespace
	WHERE s.name = $4::text AND c.relkind IN ('r', 'p', 'S')
), held AS (
	SELECT r.name, p.privilege, '' AS col, r.owned
	FROM relation r, unnest(ARRAY['SELECT', 'INSERT', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) p (privilege)
	WHERE NOT r.sequence AND has_table_privilege(r.oid, p.privilege)
	UNION ALL
	SELECT r.name, 'UPDATE', a.attname, r.owned
	FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE NOT r.sequence AND has_column_privilege(r.oid, a.attnum, 'UPDATE')
	UNION ALL
	SELECT r.name, p.privilege, '', r.owned
	FROM relation r, unnest(ARRAY['USAGE', 'UPDATE']) p (privilege)
	WHERE r.sequence AND has_sequence_privilege(r.oid, p.privilege)
), missing (name, privilege, col) AS (
	SELECT n.name, n.privilege, n.col FROM needed n JOIN relation r ON r.name = n.name
	WHERE n.col = '' OR EXISTS (
		SELECT FROM pg_attribute a WHERE a.attrelid = r.oid AND a.attname = n.col AND NOT a.attisdropped)
	EXCEPT SELECT name, privilege, col FROM held
	UNION ALL
	SELECT r.name, p.privilege, '' FROM of_river r, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p (privilege)
	WHERE NOT r.sequence AND (p.privilege = 'SELECT' OR NOT r.constant) AND NOT has_table_privilege(r.oid, p.privilege)
	UNION ALL
	SELECT r.name, 'USAGE', '' FROM of_river r WHERE r.sequence AND NOT has_sequence_privilege(r.oid, 'USAGE')
	UNION ALL
	SELECT 'SCHEMA ' || s.name, 'USAGE', '' FROM schema s WHERE NOT has_schema_privilege(s.oid, 'USAGE')
	UNION ALL
	SELECT 'SCHEMA ' || current_setting('search_path'), 'USAGE', '' WHERE current_schema() IS NULL
), excess (name, privilege, col) AS (
	SELECT name, privilege, col FROM held WHERE NOT owned
	EXCEPT SELECT name, privilege, col FROM needed
	UNION ALL
	SELECT 'SCHEMA ' || s.name, 'CREATE', '' FROM schema s WHERE has_schema_privilege(s.oid, 'CREATE')
	UNION ALL
	SELECT 'DATABASE ' || current_database(), 'CREATE', '' WHERE has_database_privilege(current_database(), 'CREATE')
), power (name) AS (
	SELECT 'OWNER OF ' || name FROM (SELECT name, sequence, owned FROM relation UNION ALL SELECT name, sequence, owned FROM of_river) r
	WHERE owned AND NOT sequence
	UNION ALL
	SELECT 'CREATEROLE' FROM pg_roles WHERE rolname = current_user AND rolcreaterole
	UNION ALL
	SELECT 'MEMBER OF ' || r.rolname FROM pg_roles r WHERE pg_has_role(r.oid, 'MEMBER')
		AND r.rolname IN ('pg_execute_server_program', 'pg_write_server_files', 'pg_read_server_files')
), superuser AS (
	SELECT FROM pg_roles r WHERE r.rolsuper AND pg_has_role(r.oid, 'MEMBER') LIMIT 1
)
SELECT current_user::text, d.excess, d.privilege FROM (
	SELECT false AS excess, NULL AS privilege
	UNION ALL
	SELECT c.excess, c.privilege || coalesce(' (' || string_agg(nullif(c.col, ''), ', ' ORDER BY c.col) || ')', '') || ' ON ' || c.name
	FROM (SELECT false AS excess, * FROM missing UNION ALL SELECT true, * FROM excess WHERE NOT EXISTS (SELECT FROM superuser)) c
	GROUP BY c.excess, c.name, c.privilege
	UNION ALL
	SELECT true, name FROM power WHERE NOT EXISTS (SELECT FROM superuser)
	UNION ALL
	SELECT true, 'SUPERUSER' FROM superuser
) d
ORDER BY d.excess, d.privilege NULLS FIRST`

// CheckPrivileges compares the privileges of the pool's role with those that the
// service needs. It skips tables, columns and sequences that do not exist, because the
// schema version accounts for them.
func CheckPrivileges(ctx context.Context, pool *pgxpool.Pool) (Privileges, error) {
	p := Privileges{}
	names, privileges, columns := listed()
	rows, err := pool.Query(ctx, privilegesQuery, names, privileges, columns, RiverSchema)
	if err != nil {
		return p, fmt.Errorf("read the privileges of the database role: %w", err)
	}
	var excess bool
	var privilege *string
	_, err = pgx.ForEachRow(rows, []any{&p.Role, &excess, &privilege}, func() error {
		switch {
		case privilege == nil: // the row that always exists
		case excess:
			p.Excess = append(p.Excess, *privilege)
		default:
			p.Missing = append(p.Missing, *privilege)
		}
		return nil
	})
	if err != nil {
		return p, fmt.Errorf("read the privileges of the database role: %w", err)
	}
	return p, nil
}

// listed returns the service's privileges as objects, privileges and columns, "" for
// none.
func listed() (names, privileges, columns []string) {
	add := func(name, privilege, column string) {
		names, privileges, columns = append(names, name), append(privileges, privilege), append(columns, column)
	}
	for _, a := range tables {
		add(a.table, "SELECT", "")
		if a.insert {
			add(a.table, "INSERT", "")
		}
		if a.delete {
			add(a.table, "DELETE", "")
		}
		for _, column := range strings.FieldsFunc(a.update, func(r rune) bool { return r == ',' || r == ' ' }) {
			add(a.table, "UPDATE", column)
		}
	}
	for _, sequence := range sequences {
		add(sequence, "USAGE", "")
	}
	return names, privileges, columns
}
