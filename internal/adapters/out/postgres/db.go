// Package postgres stores everything in PostgreSQL: it implements the core's ports and
// the idempotency guard's store.
//
// Each port is one file, written once for commands alone in a transaction and for
// commands that share one; see [session]. Its packages build on each other: the stores
// and [group] on [records] and [lanes], these on [pgtx], and that on admission.
package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/adapters/out/postgres/ids"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/adapters/out/postgres/reconcile"
	"example.com/orders/internal/adapters/out/postgres/records"
	"example.com/orders/internal/adapters/out/postgres/relay"
)

type (
	// Config holds the settings of transactions.
	Config = pgtx.Config
	// Groups holds the settings of commands that share transactions.
	Groups = group.Config
	// State decides whether the database can serve this binary.
	State = pgtx.State
	// Outbox reads the outbox.
	Outbox = relay.Outbox
	// Deliveries writes and hands out webhook deliveries.
	Deliveries = relay.Deliveries
	// Restored is a page of jobs put back.
	Restored = reconcile.Restored
)

// DB has the stores for one database.
type DB struct {
	*pgtx.DB
	reconcile.Store

	keys   *group.Executor
	recent *records.Recent
	ids    ids.Pools
}

// Open returns a DB without connecting: the first use reports a database that is down.
func Open(ctx context.Context, cfg Config, groups Groups) (*DB, error) {
	recent := records.NewRecent()
	cfg.OnBroken = recent.Forget
	pool, err := pgtx.Open(ctx, cfg)
	if err != nil {
		recent.Close()
		return nil, err
	}
	db := &DB{DB: pool, Store: reconcile.New(pool), recent: recent}
	begin := func(ctx context.Context, t *pgtx.Tx, shared bool) group.Batch {
		return newBatch(ctx, t, &db.ids, shared)
	}
	db.keys = group.NewExecutor(pool, groups, recent, begin)
	return db, nil
}

// Keys returns the guard's store.
func (db *DB) Keys() *group.Executor { return db.keys }

// Outbox returns the outbox reader.
func (db *DB) Outbox() *Outbox { return relay.NewOutbox(db.DB) }

// Deliveries returns the webhook deliveries.
func (db *DB) Deliveries() *Deliveries { return relay.NewDeliveries(db.DB) }

// Close closes the pool once its connections are idle; see [pgtx.DB.Close].
func (db *DB) Close() {
	db.DB.Close()
	db.recent.Close()
}
