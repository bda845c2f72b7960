// Package migrations holds the schema as golang-migrate pairs and applies them.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	migratepgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// FS holds the migrations and the grants, so that the binary contains its schema.
//
//go:embed *.sql grants
var FS embed.FS

// RiverSchema holds River's jobs.
const RiverSchema = "river"

// upLock is the advisory lock for migrating processes.
const upLock = 0x6f7264657273

const upLockPoll = 100 * time.Millisecond

// ErrUnsettledCards reports that migration 8 would rename payments and refunds while
// the card provider is asked about them under their old names. It would then charge
// twice.
var ErrUnsettledCards = errors.New("card payments are processing or refunds are pending, and this migration changes " +
	"their names at the card provider: let the version that is installed settle them, stop it, and migrate then")

// Up migrates our schema and River's to their newest versions. Several processes may
// call it at once.
func Up(ctx context.Context, databaseURL string) error {
	cfg, err := parse(databaseURL)
	if err != nil {
		return err
	}
	cfg.ConnConfig.RuntimeParams["lock_timeout"] = lockTimeout
	return exclusively(ctx, cfg, func(pool *pgxpool.Pool, conn *pgxpool.Conn) error {
		if err := refuseUnsettledCards(ctx, conn); err != nil {
			return err
		}
		if err := run(ctx, FS, databaseURL, up); err != nil {
			return err
		}
		return riverUp(ctx, pool)
	})
}

// exclusively runs fn as the owner while no other process migrates. It polls for the lock, because a
// waiting statement keeps a snapshot, which CREATE INDEX CONCURRENTLY in the process
// with the lock would wait for.
func exclusively(
	ctx context.Context, cfg *pgxpool.Config, fn func(pool *pgxpool.Pool, conn *pgxpool.Conn) error,
) error {
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("open the database for migration: %w", err)
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("open the database for migration: %w", err)
	}
	defer conn.Release()
	if err := refuseOtherRoles(ctx, conn); err != nil {
		return err
	}
	for locked := false; !locked; {
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", upLock).Scan(&locked); err != nil {
			return fmt.Errorf("wait for other migrations: %w", err)
		}
		if !locked && !sleep(ctx.Done(), upLockPoll) {
			return ctx.Err()
		}
	}
	defer conn.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", upLock) //nolint:errcheck // ends with the connection
	return fn(pool, conn)
}

// refuseUnsettledCards runs before the migration and not in it: a failed migration
// leaves the schema dirty, and the processes that should settle would not be ready.
func refuseUnsettledCards(ctx context.Context, conn *pgxpool.Conn) error {
	var unnamed, unsettled bool
	err := conn.QueryRow(ctx, `SELECT to_regclass('payment') IS NOT NULL AND NOT EXISTS (
		SELECT FROM pg_attribute WHERE attrelid = to_regclass('payment') AND attname = 'uuid')`).Scan(&unnamed)
	if err == nil && unnamed {
		err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM payment WHERE method = 'card' AND status = 'processing')
			OR EXISTS (SELECT FROM refund WHERE status = 'pending')`).Scan(&unsettled)
	}
	if err != nil {
		return fmt.Errorf("read the schema for migration: %w", err)
	}
	if unsettled {
		return ErrUnsettledCards
	}
	return nil
}

func riverUp(ctx context.Context, pool *pgxpool.Pool) error {
	quiet := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: RiverSchema, Logger: quiet})
	if err != nil {
		return fmt.Errorf("migrate the jobs: %w", err)
	}
	err = retryLocked(ctx.Done(), lockTries, lockPause, func() error {
		_, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate the jobs: %w", err)
	}
	return nil
}

// Down reverts our newest migration and drops its data. Reverting the migration that
// creates River's schema drops all River tables.
func Down(ctx context.Context, databaseURL string) error {
	cfg, err := parse(databaseURL)
	if err != nil {
		return err
	}
	return exclusively(ctx, cfg, func(*pgxpool.Pool, *pgxpool.Conn) error {
		return run(ctx, FS, databaseURL, func(_ context.Context, m *migrate.Migrate) error { return step(m, -1) })
	})
}

// Version returns the schema version, 0 for an empty database. Dirty means that a
// migration failed halfway and the schema needs repair.
func Version(databaseURL string) (version uint, dirty bool, err error) {
	m, err := open(nil, FS, databaseURL)
	if err != nil {
		return 0, false, err
	}
	defer m.Close() //nolint:errcheck // nothing was written
	version, dirty, err = m.Version()
	if errors.Is(err, migrate.ErrNilVersion) {
		err = nil
	}
	return version, dirty, err
}

// Newest returns the version that this binary was built for. It reads the files once,
// because every readiness check needs it.
var Newest = sync.OnceValues(newest)

func newest() (uint, error) {
	source, err := iofs.New(FS, ".")
	if err != nil {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	newest, err := source.First()
	for err == nil {
		var next uint
		if next, err = source.Next(newest); err == nil {
			newest = next
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read migrations: %w", err)
	}
	return newest, nil
}

func run(ctx context.Context, files fs.FS, databaseURL string, migrateIt func(context.Context, *migrate.Migrate) error) error {
	if err := repair(ctx, files, databaseURL); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	m, err := open(ctx.Done(), files, databaseURL)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { m.GracefulStop <- true })
	defer stop()
	err = migrateIt(ctx, m)
	sourceErr, databaseErr := m.Close()
	if err := errors.Join(err, sourceErr, databaseErr); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return ctx.Err()
}

// up runs the missing migrations one by one.
func up(ctx context.Context, m *migrate.Migrate) error {
	for ctx.Err() == nil {
		err := step(m, 1)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // that was the newest
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step runs one migration up (1) or down (-1). If that found a table locked and was
// rolled back, step removes golang-migrate's dirty mark.
func step(m *migrate.Migrate, n int) error {
	before, _, err := m.Version()
	version := int(before)
	if errors.Is(err, migrate.ErrNilVersion) {
		version, err = database.NilVersion, nil
	}
	if err != nil {
		return err
	}
	err = m.Steps(n)
	if !errors.Is(err, ErrLocked) {
		return err
	}
	if _, dirty, versionErr := m.Version(); versionErr != nil || !dirty {
		return errors.Join(err, versionErr)
	}
	return errors.Join(err, m.Force(version))
}

// open connects to a database. stop ends its waiting for locks.
func open(stop <-chan struct{}, files fs.FS, databaseURL string) (*migrate.Migrate, error) {
	source, err := iofs.New(files, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	cfg, err := parse(databaseURL)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDB(*cfg.ConnConfig, stdlib.OptionBeforeConnect(cfg.BeforeConnect))
	driver, err := migratepgx.WithInstance(db, &migratepgx.Config{})
	if err != nil {
		return nil, fmt.Errorf("open the database for migration: %w", errors.Join(err, db.Close()))
	}
	if err := waitForLocks(driver, lockTimeout); err != nil {
		return nil, fmt.Errorf("open the database for migration: %w", errors.Join(err, driver.Close()))
	}
	return migrate.NewWithInstance("iofs", source, "pgx5", &lockRetrier{Driver: driver, stop: stop})
}

// ownersQuery returns the session role and the owners it would have to be: the tables'
// owner, or the owner of a database in which it may create none. NULL stands for no
// owner.
const ownersQuery = `SELECT current_user::text,
	(SELECT pg_get_userbyid(relowner)::text FROM pg_class
		WHERE oid = to_regclass('schema_migrations') AND NOT pg_has_role(relowner, 'USAGE')),
	(SELECT pg_get_userbyid(datdba)::text FROM pg_database
		WHERE datname = current_database() AND to_regclass('schema_migrations') IS NULL
			AND NOT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false))`

// refuseOtherRoles returns an error that names the owner if the URL has another role,
// such as the service's. PostgreSQL's own error would name a table or a column.
func refuseOtherRoles(ctx context.Context, conn *pgxpool.Conn) error {
	var role string
	var ofTables, ofDatabase *string
	if err := conn.QueryRow(ctx, ownersQuery).Scan(&role, &ofTables, &ofDatabase); err != nil {
		return fmt.Errorf("read the owner of the tables: %w", err)
	}
	switch {
	case ofTables != nil:
		return fmt.Errorf("the database role %q does not own the tables: "+
			"let ORDERS_DATABASE_URL of orders migrate name their owner, %q", role, *ofTables)
	case ofDatabase != nil:
		return fmt.Errorf("the database role %q may not create tables: "+
			"let ORDERS_DATABASE_URL of orders migrate name the owner of the database, %q", role, *ofDatabase)
	}
	return nil
}
