package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// RenewIncarnation assigns the database a new name as the source of its events, if it is
// another database than the one that the name was given to: a restored one, a copy, or a
// standby that was promoted. Events that are written already keep their source.
//
// A process calls it when it starts, and does not look at it later. One that survives a
// failover writes under the old name until another process starts. Nothing is lost by
// that: ids of events are unique without their source.
//
// A read-only database writes no events, and keeps its name.
func (db *DB) RenewIncarnation(ctx context.Context) error {
	err := db.writeOnce(ctx, func(q *dbsqlc.Queries) error { return q.RenewIncarnation(ctx) })
	if stateOf(err) == readOnlyTransaction {
		return nil
	}
	return failed("renew the incarnation of the database", err)
}
