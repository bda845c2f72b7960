package pgtx

import (
	"context"
	"fmt"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// commitLevel decides which crashes an acknowledged COMMIT survives. The service sets
// it in each session or transaction, because roles and databases may set it for other
// clients.
const commitLevel = "synchronous_commit"

// levelToSet returns the transactions' level: on, unless the URL asks for more.
func levelToSet(asked string) string {
	if asked == "remote_apply" {
		return asked
	}
	return "on"
}

// CheckDurability returns an error if the level in the URL loses acknowledged commits,
// or if the server does not use the service's level.
func (db *DB) CheckDurability(ctx context.Context) error {
	var used dbsqlc.DurabilityRow
	err := db.Look(ctx, func(ctx context.Context, t *Tx) error {
		err := t.Load(ctx, func(ctx context.Context, q *dbsqlc.Queries) (err error) { used, err = q.Durability(ctx); return err })
		if err != nil {
			return err
		}
		return ErrNothingToCommit
	})
	if err != nil {
		return Failed("read "+commitLevel, err)
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
