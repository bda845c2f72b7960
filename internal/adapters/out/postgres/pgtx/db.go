// Package pgtx connects to PostgreSQL and runs transactions in few round trips: related
// reads share one, and all writes are sent with COMMIT; see [Tx].
package pgtx

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
	"example.com/orders/internal/core"
)

// Config holds the connection settings.
type Config struct {
	// URL is a PostgreSQL connection string. Its pool_max_conns sets the pool size. The
	// default allows four writers per core, and at least eight.
	URL string
	// MaxConns overrides the pool size unless it is zero.
	MaxConns int32
	// Pooled reports whether the URL leads to a pooler, which reassigns the server
	// connection after each transaction and rejects session settings.
	Pooled bool
	// Lanes is the number of transactions at which commands with an idempotency key
	// start to queue and share a transaction. Zero disables shared transactions.
	Lanes int
	// Dial opens network connections; nil dials with TCP keep-alive.
	Dial pgconn.DialFunc
	// Observe receives events; nil disables it.
	Observe Observer
	// OnBroken is called when a connection breaks: the first sign of a failover.
	OnBroken func()
}

// DB is a connection pool for one database.
type DB struct {
	pool    *pgxpool.Pool
	servers *servers
	// writers limits write transactions, alone those outside groups (see transact), and
	// patient those among them that may wait long for a row.
	writers, alone, patient *semaphore.Weighted
	// share is the limit per principal.
	share  int
	doubts doubts
	// askedLevel is the synchronous_commit level in the URL.
	askedLevel string
	// begin holds the statements that start a transaction.
	begin []statement
	// Observe is never nil.
	Observe Observer
	// RowHeld reports whether a command is known to wait for a row held for long.
	RowHeld func() bool

	ids  [core.StockAdjustmentIDs + 1]idPool
	pace pace
}

// Open returns a DB without connecting: the first use reports a database that is down.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	pc, err := poolConfig(cfg)
	if err != nil {
		return nil, err
	}
	configure := configureSession
	if cfg.Pooled {
		configure = configurePooled
	}
	asked := pc.ConnConfig.RuntimeParams[commitLevel]
	begin := configure(pc.ConnConfig)
	watch(pc, cfg.OnBroken)
	servers := connectTo(pc, cfg)
	pc.ConnConfig.Tracer = tracer{servers}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open the database pool: %w", err)
	}
	servers.pool.Store(pool)
	db := newDB(pool, cfg)
	db.servers, db.begin, db.askedLevel = servers, begin, asked
	return db, nil
}

// poolConfig reads the URL and sets the size of the pool.
func poolConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, errors.New("the database URL cannot be read") // err may show the password
	}
	switch {
	case cfg.MaxConns > 0:
		pc.MaxConns = cfg.MaxConns
	case !strings.Contains(cfg.URL, "pool_max_conns"):
		writers := max(8, 4*runtime.NumCPU()) // some wait for locks, some for COMMIT
		pc.MaxConns = int32(writers * 4 / 3)
	}
	return pc, nil
}

// newDB splits the pool between writers, groups and principals.
func newDB(pool *pgxpool.Pool, cfg Config) *DB {
	writers := maxWriters(pool.Config().MaxConns)
	alone := maxAlone(writers, cfg.Lanes)
	open, closeDoubts := context.WithCancel(context.Background())
	db := &DB{
		pool: pool, writers: semaphore.NewWeighted(writers), alone: semaphore.NewWeighted(alone),
		patient: semaphore.NewWeighted(int64(maxShare(alone))),
		share:   maxShare(alone), Observe: cfg.Observe,
		doubts: doubts{limit: min(maxInDoubt, writers), closed: open.Done(), close: closeDoubts},
	}
	db.RowHeld = func() bool { return false }
	if db.Observe == nil {
		db.Observe = Unobserved{}
	}
	return db
}

// maxWriters reserves a quarter of the connections for reads, and at least two if there
// are enough.
func maxWriters(conns int32) int64 { return int64(max(1, conns-max(2, conns/4))) }

// maxAlone reserves a writer place per lane for its group. It leaves at least two
// places outside groups if possible, because one may wait for a row.
func maxAlone(writers int64, lanes int) int64 { return min(writers, max(2, writers-int64(lanes))) }

// maxShare reserves a quarter of the places, and at least one, for other principals,
// unless there is only one place.
func maxShare(writers int64) int { return int(max(1, writers-max(1, writers/4))) }

// A process that stalls or vanishes in mid-transaction must not keep its locks.
const idleInTransaction = "15s"

// configureSession sets session parameters, and returns the statements that start a
// transaction.
func configureSession(conn *pgx.ConnConfig) (begin []statement) {
	params := conn.RuntimeParams
	planOnce(params)
	setDefault(params, "idle_in_transaction_session_timeout", idleInTransaction)
	setDefault(params, "application_name", "orders")
	setDefault(params, "timezone", "UTC")
	params["default_transaction_isolation"] = "read committed" // the locks rely on it
	params[commitLevel] = levelToSet(params[commitLevel])
	return []statement{{sql: "begin"}}
}

// configurePooled sends only startup parameters that a pooler passes on. Settings that
// transactions rely on are repeated in each. No prepared statement stays on a
// connection, so statements are planned on every call and planOnce has no use.
func configurePooled(conn *pgx.ConnConfig) (begin []statement) {
	conn.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	level := levelToSet(conn.RuntimeParams[commitLevel])
	delete(conn.RuntimeParams, commitLevel)
	setDefault(conn.RuntimeParams, "application_name", "orders")
	setDefault(conn.RuntimeParams, "timezone", "UTC")
	return []statement{
		{sql: "begin isolation level read committed"},
		{sql: "set local idle_in_transaction_session_timeout = '" + idleInTransaction + "'"},
		{sql: "set local " + commitLevel + " = '" + level + "'"},
	}
}

// Pool returns the connection pool, for River.
func (db *DB) Pool() *pgxpool.Pool { return db.pool }

// Share returns how many commands a principal should run at once, so that others always
// find a connection. This requires a pool with at least four connections.
func (db *DB) Share() int { return db.share }

// planOnce makes each connection plan a statement once, with a plan that stays good as
// tables grow.
//
// By default PostgreSQL plans statements with arrays on every call, because their
// generic plan looks more expensive: an order took 0.38 ms of server CPU instead of
// 0.26 ms.
//
// A generic plan lasts until ANALYZE. Made for an empty table, it would scan the whole
// table for every key: orders on a new database ran at 0.4 times the usual rate. So
// sequential scans are penalized. Without a usable index, that penalty would start the
// JIT compiler: TakeLease took 50 ms of server CPU instead of 0.04 ms. (Measured from
// /proc over thousands of commands.)
//
// So a query must have one sensible plan for all parameters.
// TestEveryQueryReadsLittleOfLargeTables checks every plan.
func planOnce(params map[string]string) {
	setDefault(params, "plan_cache_mode", "force_generic_plan")
	setDefault(params, "enable_seqscan", "off")
	setDefault(params, "jit", "off")
}

func setDefault(params map[string]string, name, value string) {
	if _, set := params[name]; !set {
		params[name] = value
	}
}

// Close closes the pool once its connections are idle. It does not wait for COMMITs in
// doubt: their server keeps waiting for its standby, as if this process had died.
func (db *DB) Close() {
	db.doubts.close()
	db.pool.Close()
}

// State decides whether the database can serve this binary.
type State struct {
	// SchemaVersion is the version recorded by golang-migrate, 0 for an empty database.
	// Dirty reports a migration that failed half way.
	SchemaVersion uint
	Dirty         bool
	// ReadOnly reports that the database rejects writes, as a standby does.
	ReadOnly bool
}

// State returns the database state. If it is read-only, the pool reconnects first,
// because another server may be the primary now.
func (db *DB) State(ctx context.Context) (State, error) {
	s, err := db.readState(ctx)
	if s.ReadOnly {
		db.servers.dropAll()
		s, err = db.readState(ctx)
	}
	return s, err
}

func (db *DB) readState(ctx context.Context) (State, error) {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return State{}, noConnection(err)
	}
	defer conn.Release()
	var s State
	err = conn.QueryRow(ctx, `SELECT version, dirty, current_setting('transaction_read_only')::boolean
		FROM schema_migrations`).Scan(&s.SchemaVersion, &s.Dirty, &s.ReadOnly)
	var missing *pgconn.PgError
	if errors.Is(err, pgx.ErrNoRows) || (errors.As(err, &missing) && missing.Code == "42P01") { // undefined_table
		return State{}, nil
	}
	return s, Unavailable(err)
}

// RenewIncarnation renames the database as event source if it is not the
// database that got the current name: a restored one, a copy, or a promoted standby.
// Existing events keep their source.
//
// A process calls it only at startup. If it survives a failover, it writes under the
// old name until another process starts. That is harmless, because event ids are unique
// without the source.
//
// A read-only database writes no events and keeps its name.
func (db *DB) RenewIncarnation(ctx context.Context) error {
	err := db.WriteOnce(ctx, func(ctx context.Context, q *dbsqlc.Queries) error { return q.RenewIncarnation(ctx) })
	if stateOf(err) == readOnlyTransaction {
		return nil
	}
	return Failed("renew the incarnation of the database", err)
}

// acquireAlive returns a connection whose server has just answered. When one pooled
// connection is dead, others often are as well.
func (db *DB) acquireAlive(ctx context.Context) (conn *pgxpool.Conn, err error) {
	for range db.pool.Stat().MaxConns() + 1 { // the last one connects anew
		if conn, err = db.pool.Acquire(ctx); err != nil {
			return nil, err
		}
		if err = conn.Ping(ctx); err == nil {
			return conn, nil
		}
		conn.Release() // drops it
	}
	return nil, err
}
