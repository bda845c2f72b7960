// Package postgres stores everything in PostgreSQL: it implements the core's ports and
// the idempotency guard's store.
//
// Each port is one file, written once for commands alone in a transaction and for
// commands that share one; see [session]. Its packages build on each other: the stores
// and [group] on [records] and [lanes], and these on [pgtx].
package postgres

import (
	"context"

	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/adapters/out/postgres/reconcile"
	"example.com/orders/internal/adapters/out/postgres/records"
	"example.com/orders/internal/adapters/out/postgres/relay"
)

// Config holds the settings.
type Config = pgtx.Config

// State decides whether the database can serve this binary.
type State = pgtx.State

// Outbox reads the outbox.
type Outbox = relay.Outbox

// DB has the stores for one database.
type DB struct {
	*pgtx.DB
	reconcile.Store

	keys   *group.Keys
	recent *records.Recent
}

// Open returns a DB without connecting: the first use reports a database that is down.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	recent := records.NewRecent()
	cfg.OnBroken = recent.Forget
	db, err := pgtx.Open(ctx, cfg)
	if err != nil {
		recent.Close()
		return nil, err
	}
	begin := func(ctx context.Context, t *pgtx.Tx, shared bool) group.Batch { return newBatch(ctx, t, shared) }
	keys := group.NewKeys(db, cfg.Lanes, recent, begin)
	return &DB{DB: db, Store: reconcile.New(db), keys: keys, recent: recent}, nil
}

// Keys returns the guard's store.
func (db *DB) Keys() *group.Keys { return db.keys }

// Outbox returns the outbox reader.
func (db *DB) Outbox() *Outbox { return relay.NewOutbox(db.DB) }

// Close closes the pool once its connections are idle; see [pgtx.DB.Close].
func (db *DB) Close() {
	db.DB.Close()
	db.recent.Close()
}
