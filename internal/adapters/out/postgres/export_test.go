package postgres

import "context"

// ExecuteIn executes a statement on the connection of the transaction that a command runs in,
// which does not learn of it.
func ExecuteIn(ctx context.Context, sql string) error {
	_, err := ctx.Value(sessionKey{}).(*session).tx.Conn().Exec(ctx, sql)
	return err
}
