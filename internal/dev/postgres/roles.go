package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// EnsureLogin creates a login role without a password and adds it to a group.
// databaseURL needs a superuser.
func EnsureLogin(ctx context.Context, databaseURL, login, group string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("create the role %s: %w", login, err)
	}
	defer func() { _ = conn.Close(ctx) }() // every statement has committed by itself
	role := pgx.Identifier{login}.Sanitize()
	_, err = conn.Exec(ctx, "CREATE ROLE "+role+" LOGIN")
	if exists, ok := errors.AsType[*pgconn.PgError](err); ok && (exists.Code == "42710" || exists.Code == "23505") {
		err = nil
	}
	if err == nil {
		_, err = conn.Exec(ctx, "GRANT "+pgx.Identifier{group}.Sanitize()+" TO "+role)
	}
	if err != nil {
		return fmt.Errorf("create the role %s: %w", login, err)
	}
	return nil
}
