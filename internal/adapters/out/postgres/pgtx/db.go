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

	"example.com/orders/internal/adapters/out/postgres/admission"
	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
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
	// Places limit the transactions.
	Places *admission.Places
	// closed is closed by stop when the pool is closed.
	closed <-chan struct{}
	stop   func()
	// askedLevel is the synchronous_commit level in the URL.
	askedLevel string
	// begin holds the statements that start a transaction.
	begin []statement
	// Observe is never nil.
	Observe Observer
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

func newDB(pool *pgxpool.Pool, cfg Config) *DB {
	open, stop := context.WithCancel(context.Background())
	db := &DB{
		pool: pool, Places: admission.New(int(pool.Config().MaxConns)),
		closed: open.Done(), stop: stop, Observe: cfg.Observe,
	}
	if db.Observe == nil {
		db.Observe = unobserved{}
	}
	return db
}

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
	db.stop()
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
	err := db.ExecOnce(ctx, func(ctx context.Context, q *dbsqlc.Queries) error { return q.RenewIncarnation(ctx) })
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
