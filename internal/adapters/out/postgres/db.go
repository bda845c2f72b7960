// Package postgres keeps everything in PostgreSQL: it implements the ports of the
// core and the store of the idempotency guard.
//
// A transaction costs few round trips: reads that belong together go in one, and
// all writes leave together with COMMIT (see tx).
package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"example.com/orders/internal/core"
)

// Config describes how to reach the database.
type Config struct {
	// URL is a PostgreSQL connection string. Its pool_max_conns sets the size of the
	// pool. Without it, four transactions for each core may write, and eight at least.
	URL string
	// MaxConns sets the size of the pool instead, when it is not zero.
	MaxConns int32
	// Pooled reports whether the URL leads to a pooler, which assigns the connection of the
	// server to another client after each transaction, and refuses settings of the session.
	Pooled bool
	// StandbyURL leads to a standby that serves reads which may be old by StandbyStaleness.
	// Without one, the primary serves all.
	StandbyURL       string
	StandbyStaleness time.Duration
	// Lanes is how many transactions run before commands with an idempotency key wait and
	// share a transaction. Zero lets each run in a transaction of its own.
	Lanes int
	// Observe observes how they share; nil for nobody.
	Observe GroupObserver
	// ObserveTransactions observes all transactions; nil for nobody.
	ObserveTransactions TransactionObserver
	// Traced makes a span of each round trip of what is traced.
	Traced bool
	// RecentBytes bounds the records of the guard that are remembered; zero is 64 MiB.
	RecentBytes uint64
	// standby reports that the URL leads to a standby.
	standby bool
}

// DB is a pool of connections to one database.
type DB struct {
	pool    *pgxpool.Pool
	servers *servers
	standby *standby // nil without one
	// writers bounds the transactions that may write, and alone those of them that are no
	// groups; see transact. Of these, patient bounds those that may wait long for a row.
	writers, alone, patient *semaphore.Weighted
	// share is how many of these one principal may have.
	share  int
	doubts doubts
	// askedLevel is the level of synchronous_commit in the URL.
	askedLevel string
	// begin holds the statements that begin a transaction.
	begin []statement
	// observe is never nil.
	observe TransactionObserver

	ids  [core.StockAdjustmentIDs + 1]idPool
	keys *Keys
}

// Open returns a DB. It does not connect yet: a database that is down is reported by
// whoever uses it first.
func Open(ctx context.Context, cfg Config) (*DB, error) {
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
	configure := configureSession
	if cfg.Pooled {
		configure = configurePooled
	}
	asked := pc.ConnConfig.RuntimeParams[commitLevel]
	begin := configure(pc.ConnConfig)
	recent := newRecentRecords(cfg.RecentBytes)
	watch(pc, recent)
	servers := connectTo(pc, cfg.standby)
	pc.ConnConfig.Tracer = untraced{servers}
	if cfg.Traced {
		pc.ConnConfig.Tracer = traced{ConnectTracer: servers}
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open the database pool: %w", err)
	}
	servers.pool.Store(pool)
	writers := maxWriters(pc.MaxConns)
	alone := maxAlone(writers, cfg.Lanes)
	db := &DB{
		pool: pool, servers: servers, writers: semaphore.NewWeighted(writers), alone: semaphore.NewWeighted(alone),
		patient: semaphore.NewWeighted(int64(maxShare(alone))),
		share:   maxShare(alone), begin: begin, observe: cfg.ObserveTransactions, askedLevel: asked,
		doubts: newDoubts(writers),
	}
	if db.observe == nil {
		db.observe = ignored{}
	}
	db.keys = newKeys(db, cfg, recent)
	if cfg.StandbyURL != "" {
		if db.standby, err = openStandby(ctx, pool, cfg); err != nil {
			db.Close()
			return nil, err
		}
	}
	return db, nil
}

// maxWriters returns how many connections of a pool may be used to write. It keeps a
// quarter for reads, two at least, as far as there are as many.
func maxWriters(conns int32) int64 { return int64(max(1, conns-max(2, conns/4))) }

// maxAlone returns how many of the writers need not be groups. It keeps one for the group
// of each lane, as far as there are two others: one of them may wait for a row.
func maxAlone(writers int64, lanes int) int64 { return min(writers, max(2, writers-int64(lanes))) }

// maxShare returns how many of the writers may belong to one principal. It keeps a quarter
// for others, and one at least, unless there is only one.
func maxShare(writers int64) int { return int(max(1, writers-max(1, writers/4))) }

// A process that stalls or vanishes in mid-transaction must not keep its locks.
const idleInTransaction = "15s"

// configureSession sets what lasts as long as a connection, and returns how a transaction
// begins.
func configureSession(conn *pgx.ConnConfig) (begin []statement) {
	params := conn.RuntimeParams
	planOnce(params)
	setDefault(params, "idle_in_transaction_session_timeout", idleInTransaction)
	setDefault(params, "application_name", "orders")
	setDefault(params, "timezone", "UTC")
	params["default_transaction_isolation"] = "read committed" // what the locks are made for
	params[commitLevel] = levelToSet(params[commitLevel])
	return []statement{{sql: "begin"}}
}

// configurePooled sends only those settings at the start that a pooler passes on. What the
// transactions rely on is part of each of them. No prepared statement is left on a
// connection, so that statements are planned each time and planOnce has no use.
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

// StandbyPool returns the connection pool of the standby, nil if there is none.
func (db *DB) StandbyPool() *pgxpool.Pool {
	if db.standby == nil {
		return nil
	}
	return db.standby.db.pool
}

// Share returns how many commands of one principal should run at the same time, so that
// others always find a connection. The pool must have four connections for that.
func (db *DB) Share() int { return db.share }

// planOnce lets a connection plan each statement once, and for tables that grow.
//
// By default PostgreSQL plans statements with arrays on every call, because their generic
// plan looks more expensive: 0.38 ms of its processor time for an order instead of 0.26.
//
// A generic plan stays while tables grow, until ANALYZE. Made for an empty table, it would
// read all of it for every key: orders on a new database had 0.4 of the usual rate. So
// sequential scans are penalized. On a table without a usable index the penalty would
// start the JIT compiler: TakeLease took 50 ms of processor time instead of 0.04. (Both
// times are those of the server process, from /proc, over thousands of commands.)
//
// A query must therefore have only one sensible plan, whatever its parameters are.
// TestEveryQueryReadsLittleOfLargeTables reads the plan of each.
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

// Close waits for the connections in use and closes the pool. It does not wait for COMMITs in
// doubt: their server goes on to wait for its standby, as after the death of this process.
func (db *DB) Close() {
	db.doubts.close()
	if db.standby != nil {
		db.standby.close()
	}
	db.pool.Close()
	db.keys.recent.close()
}

// State is what decides whether the database can serve this binary.
type State struct {
	// SchemaVersion is what golang-migrate recorded, 0 for an empty database. Dirty
	// reports that a migration failed half way.
	SchemaVersion uint
	Dirty         bool
	// ReadOnly reports that the database accepts no writes, as a standby does.
	ReadOnly bool
}

// State returns the state of the database. If it is read-only, another server may be the
// primary now, so the pool connects again first.
func (db *DB) State(ctx context.Context) (State, error) {
	s, err := db.readState(ctx)
	if s.ReadOnly {
		db.servers.dropAll()
		s, err = db.readState(ctx)
	}
	return s, err
}

func (db *DB) readState(ctx context.Context) (State, error) {
	var s State
	err := db.pool.QueryRow(ctx, `SELECT version, dirty, current_setting('transaction_read_only')::boolean
		FROM schema_migrations`).Scan(&s.SchemaVersion, &s.Dirty, &s.ReadOnly)
	var missing *pgconn.PgError
	if errors.Is(err, pgx.ErrNoRows) || (errors.As(err, &missing) && missing.Code == "42P01") { // undefined_table
		return State{}, nil
	}
	return s, unavailable(err)
}

// acquireAlive returns a connection whose server has just answered. When one connection
// of the pool is dead, the others often are, too.
func (db *DB) acquireAlive(ctx context.Context) (conn *pgxpool.Conn, err error) {
	for range db.pool.Stat().MaxConns() + 1 { // at last the pool is empty and connects
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
