package migrations

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/golang-migrate/migrate/v4/database"
	"github.com/jackc/pgx/v5"
)

// ErrInterrupted reports a schema that was left dirty and that only a person can judge.
var ErrInterrupted = errors.New("a migration was interrupted, and nothing proves what it has left: compare the schema with " +
	"its file. If all of its changes are there, execute UPDATE schema_migrations SET dirty = false; if none is, also SET version " +
	"to that of the migration before. Then run `orders migrate up` again")

// createsIndex and dropsIndex match a file that runs concurrently.
var (
	createsIndex = regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )(?:IF NOT EXISTS )?(\w+)\s+ON (\w+)`)
	dropsIndex   = regexp.MustCompile(`(?m)^DROP INDEX CONCURRENTLY (?:IF EXISTS )?(\w+)`)
	indexedTable = regexp.MustCompile(` ON \S+ `)
)

// repair finishes an interrupted migration if it can prove what that has left. Only
// files that run concurrently leave a dirty schema, and those that a version before
// 0.2.0 has run.
func repair(ctx context.Context, files fs.FS, databaseURL string) error {
	conn, err := connect(ctx, databaseURL, "migration")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // releases the lock
	if _, dirty, err := dirtyVersion(ctx, conn); err != nil || !dirty {
		return err
	}
	if err := awaitMigrator(ctx, conn, conn.Config().Database); err != nil {
		return err
	}
	version, dirty, err := dirtyVersion(ctx, conn)
	if err != nil || !dirty {
		return err
	}
	if err := finish(ctx, conn, files, version); err != nil {
		return fmt.Errorf("migration %d: %w", version, err)
	}
	return nil
}

func dirtyVersion(ctx context.Context, conn *pgx.Conn) (version int, dirty bool, err error) {
	var exists bool
	err = conn.QueryRow(ctx, "SELECT to_regclass('schema_migrations') IS NOT NULL").Scan(&exists)
	if err == nil && exists {
		err = conn.QueryRow(ctx, "SELECT version, dirty FROM schema_migrations").Scan(&version, &dirty)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	return version, dirty, err
}

// awaitMigrator waits for golang-migrate's lock, which the server process of a killed
// migration keeps until its statement ends. It polls; see exclusively.
func awaitMigrator(ctx context.Context, conn *pgx.Conn, databaseName string) error {
	var schema string
	if err := conn.QueryRow(ctx, "SELECT current_schema()").Scan(&schema); err != nil {
		return err
	}
	lock, err := database.GenerateAdvisoryLockId(databaseName, schema, "schema_migrations")
	if err != nil {
		return err
	}
	for locked := false; !locked; {
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1::text::bigint)", lock).Scan(&locked); err != nil {
			return err
		}
		if !locked && !sleep(ctx.Done(), upLockPoll) {
			return ctx.Err()
		}
	}
	return nil
}

// finish runs the file again unless its change is there. A file in a transaction has
// left all or nothing, so that it fails if it has left all.
func finish(ctx context.Context, conn *pgx.Conn, files fs.FS, version int) error {
	names, err := fs.Glob(files, fmt.Sprintf("%04d_*.up.sql", version))
	if err != nil || len(names) != 1 {
		return fmt.Errorf("%w (this release has no such file: %w)", ErrInterrupted, err)
	}
	text, err := fs.ReadFile(files, names[0])
	if err != nil {
		return err
	}
	if !concurrently.Match(text) {
		if _, err := conn.Exec(ctx, recordVersion(string(text), version)); err != nil {
			return fmt.Errorf("%w (%w)", ErrInterrupted, err)
		}
		return nil
	}
	done, err := indexIsAsIn(ctx, conn, string(text))
	if err == nil && !done {
		_, err = conn.Exec(ctx, "SET lock_timeout = 0")
		if err == nil {
			_, err = conn.Exec(ctx, string(text))
		}
	}
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "UPDATE schema_migrations SET dirty = false")
	return err
}

// indexIsAsIn reports whether the file's index exists, or is gone. It drops an invalid
// one.
func indexIsAsIn(ctx context.Context, conn *pgx.Conn, text string) (bool, error) {
	created, name := createsIndex.FindStringSubmatchIndex(text), ""
	if created != nil {
		name = text[created[4]:created[5]]
	} else if dropped := dropsIndex.FindStringSubmatch(text); dropped != nil {
		name = dropped[1]
	}
	var valid bool
	var definition string
	err := conn.QueryRow(ctx, "SELECT indisvalid, pg_get_indexdef(indexrelid) FROM pg_index WHERE indexrelid = to_regclass($1)", name).
		Scan(&valid, &definition)
	missing := errors.Is(err, pgx.ErrNoRows)
	switch {
	case missing || err != nil || created == nil:
		if missing {
			err = nil
		}
		return missing && created == nil, err
	case !valid:
		_, err := conn.Exec(ctx, "DROP INDEX CONCURRENTLY "+name)
		return false, err
	}
	plain, table := text[:created[2]]+text[created[3]:], text[created[6]:created[7]]
	want, err := definitionOf(ctx, conn, plain, name, table)
	if err == nil && indexedTable.ReplaceAllString(definition, "") != indexedTable.ReplaceAllString(want, "") {
		err = fmt.Errorf("%w (another index has the name %s)", ErrInterrupted, name)
	}
	return true, err
}

// definitionOf returns the definition that the index of a file has, on an empty copy of
// the table.
func definitionOf(ctx context.Context, conn *pgx.Conn, plain, name, table string) (definition string, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err = tx.Exec(ctx, "CREATE TEMP TABLE "+table+" (LIKE "+table+")"); err != nil {
		return "", err
	}
	if _, err = tx.Exec(ctx, plain); err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, "SELECT pg_get_indexdef(to_regclass('pg_temp.' || $1))", name).Scan(&definition)
	return definition, err
}
