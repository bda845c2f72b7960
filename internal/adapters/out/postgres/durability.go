package postgres

import (
	"context"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// commitLevel is the parameter that decides which crashes an acknowledged COMMIT survives.
// Each session or transaction of the service sets it, because roles and databases set it as
// well, for others.
const commitLevel = "synchronous_commit"

// levelToSet returns the level that transactions use: on, unless the URL asks for more.
func levelToSet(asked string) string {
	if asked == "remote_apply" {
		return asked
	}
	return "on"
}

// CheckDurability returns an error if the URL asks for a level at which acknowledged commits
// are lost, or if the server does not use the level that the service has set.
func (db *DB) CheckDurability(ctx context.Context) error {
	var used dbsqlc.DurabilityRow
	err := db.look(ctx, func(ctx context.Context, t *tx) error {
		err := t.load(ctx, func(q *dbsqlc.Queries) (err error) { used, err = q.Durability(ctx); return err })
		if err != nil {
			return err
		}
		return errNothingToCommit
	})
	if err != nil {
		return failed("read "+commitLevel, err)
	}
	weak := used.Synchronous && (db.askedLevel == "local" || db.askedLevel == "remote_write")
	switch {
	case db.askedLevel == "off" || weak:
		return fmt.Errorf("%s=%s in the database URL would lose acknowledged commits: remove it, or use on or remote_apply",
			commitLevel, db.askedLevel)
	case used.Level != levelToSet(db.askedLevel):
		return fmt.Errorf("%s is %s although the service has set %s: "+
			"a pooler drops parameters, so set ORDERS_DATABASE_POOLER=transaction, or connect to the server directly",
			commitLevel, used.Level, levelToSet(db.askedLevel))
	}
	return nil
}
