package migrations

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ownersQuery returns the session role and the owners it would have to be: the tables'
// owner, or the owner of a database in which it may create none. NULL stands for no
// owner.
const ownersQuery = `SELECT current_user::text,
	(SELECT pg_get_userbyid(relowner)::text FROM pg_class
		WHERE oid = to_regclass('schema_migrations') AND NOT pg_has_role(relowner, 'USAGE')),
	(SELECT pg_get_userbyid(datdba)::text FROM pg_database
		WHERE datname = current_database() AND to_regclass('schema_migrations') IS NULL
			AND NOT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false))`

// refuseOtherRoles returns an error that names the owner if the URL has another role,
// such as the service's. PostgreSQL's own error would name a table or a column.
func refuseOtherRoles(ctx context.Context, databaseURL string) error {
	cfg, err := parse(databaseURL)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return fmt.Errorf("open the database for migration: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // nothing was written
	var role string
	var ofTables, ofDatabase *string
	if err := conn.QueryRow(ctx, ownersQuery).Scan(&role, &ofTables, &ofDatabase); err != nil {
		return fmt.Errorf("read the owner of the tables: %w", err)
	}
	switch {
	case ofTables != nil:
		return fmt.Errorf("the database role %q does not own the tables: "+
			"let ORDERS_DATABASE_URL of orders migrate name their owner, %q", role, *ofTables)
	case ofDatabase != nil:
		return fmt.Errorf("the database role %q may not create tables: "+
			"let ORDERS_DATABASE_URL of orders migrate name the owner of the database, %q", role, *ofDatabase)
	}
	return nil
}
