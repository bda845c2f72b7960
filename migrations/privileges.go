package migrations

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Privileges are those of a role that the service lacks.
type Privileges struct {
	// Role is the session's role.
	Role string
	// Missing names privileges, such as "DELETE ON audit_log".
	Missing []string
}

// maxNamed bounds the privileges that an error names. A role outside the group lacks
// all.
const maxNamed = 3

// Err explains how to grant missing privileges, or returns nil.
func (p Privileges) Err() error {
	if len(p.Missing) == 0 {
		return nil
	}
	named := p.Missing[:min(len(p.Missing), maxNamed)]
	more := ""
	if n := len(p.Missing) - len(named); n > 0 {
		more = fmt.Sprintf(" and %d more privileges", n)
	}
	return fmt.Errorf("the database role %s lacks %s%s: run `orders migrate up` as the owner of the tables, "+
		"and execute GRANT %s TO %[1]s as a superuser", quote(p.Role), strings.Join(named, ", "), more, quote(ServiceGroup))
}

// privilegesQuery reads only the catalog, so that every role may execute it. It returns
// the role, and the privileges that it lacks of those that the file grants to the service:
// on tables and sequences by name, and on all of River's. It splits into arrays, of which
// PostgreSQL expects few members: it would compile a query that splits into tables.
const privilegesQuery = `
WITH granted AS (
	SELECT g[1] AS privileges, g[2] AS names
	FROM regexp_matches($1::text, 'GRANT ([^;]+)\s+ON (?:SEQUENCE )?([a-z_,\s]+) TO ' || $2::text || ';', 'g') g
), needed AS (
	SELECT c.oid, c.relnamespace, n.name, p[1] AS privilege, columns.col
	FROM granted
		CROSS JOIN unnest(regexp_split_to_array(names, ',\s*')) n (name)
		CROSS JOIN regexp_matches(privileges, '(\w+)(?: \(([^)]+)\))?', 'g') p
		CROSS JOIN unnest(regexp_split_to_array(coalesce(p[2], ''), ',\s*')) columns (col)
		JOIN pg_class c ON c.oid = to_regclass(n.name)
), schema AS (
	SELECT oid, nspname AS name FROM pg_namespace WHERE nspname = $3::text OR oid IN (SELECT relnamespace FROM needed)
), of_river AS (
	SELECT c.oid, s.name || '.' || c.relname AS name, c.relkind = 'S' AS sequence, c.relname = 'river_migration' AS constant
	FROM pg_class c JOIN schema s ON s.oid = c.relnamespace
	WHERE s.name = $3::text AND c.relkind IN ('r', 'p', 'S')
), missing (name, privilege, col) AS (
	SELECT n.name, n.privilege, n.col
	FROM needed n LEFT JOIN pg_attribute a ON a.attrelid = n.oid AND a.attname = n.col AND NOT a.attisdropped
	WHERE NOT CASE
		WHEN n.privilege = 'USAGE' THEN has_sequence_privilege(n.oid, 'USAGE')
		WHEN n.col <> '' THEN a.attnum IS NULL OR has_column_privilege(n.oid, a.attnum, n.privilege)
		ELSE has_table_privilege(n.oid, n.privilege) END
	UNION ALL
	SELECT r.name, p.privilege, '' FROM of_river r, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p (privilege)
	WHERE NOT r.sequence AND (p.privilege = 'SELECT' OR NOT r.constant) AND NOT has_table_privilege(r.oid, p.privilege)
	UNION ALL
	SELECT r.name, 'USAGE', '' FROM of_river r WHERE r.sequence AND NOT has_sequence_privilege(r.oid, 'USAGE')
	UNION ALL
	SELECT 'SCHEMA ' || s.name, 'USAGE', '' FROM schema s WHERE NOT has_schema_privilege(s.oid, 'USAGE')
	UNION ALL
	SELECT 'SCHEMA ' || current_setting('search_path'), 'USAGE', '' WHERE current_schema() IS NULL
)
SELECT current_user::text, ARRAY(
	SELECT privilege || coalesce(' (' || string_agg(nullif(col, ''), ', ' ORDER BY col) || ')', '') || ' ON ' || name
	FROM missing GROUP BY name, privilege ORDER BY 1)`

// CheckPrivileges returns the privileges that the pool's role lacks. It skips tables,
// columns and sequences that do not exist, because the schema version accounts for them.
func CheckPrivileges(ctx context.Context, pool *pgxpool.Pool) (Privileges, error) {
	p := Privileges{}
	err := pool.QueryRow(ctx, privilegesQuery, grants, ServiceGroup, RiverSchema).Scan(&p.Role, &p.Missing)
	if err != nil {
		return p, fmt.Errorf("read the privileges of the database role: %w", err)
	}
	return p, nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
