// Package upgrade checks that migrations do not stop the service during an upgrade: no command
// waits long behind the migration, and the old version can still use the schema.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Finding is a defect in a migration during an upgrade.
type Finding struct {
	// Object is the table, column, index or constraint that it is about.
	Object string
	Text   string
	// header is the line kind in the migration that admits it, or empty.
	header string
}

// Check runs a migration on a database with the schema before it and returns the findings.
// released is the version of the last release.
func Check(ctx context.Context, conn *pgx.Conn, migration, released string) ([]string, error) {
	before, err := readCatalogue(ctx, conn)
	if err != nil {
		return nil, err
	}
	found, err := run(ctx, conn, migration, before)
	if err != nil {
		return nil, err
	}
	after, err := readCatalogue(ctx, conn)
	if err != nil {
		return nil, err
	}
	found = slices.Concat(found, rewritten(before, after), narrowed(before, after))
	return admit(migration, released, found), nil
}

// concurrently recognises a migration that PostgreSQL refuses to run in a transaction.
var concurrently = regexp.MustCompile(`(?m)^(CREATE INDEX|CREATE UNIQUE INDEX|DROP INDEX) CONCURRENTLY `)

func run(ctx context.Context, conn *pgx.Conn, migration string, before catalogue) (found []Finding, err error) {
	if concurrently.MatchString(migration) {
		return nil, execute(ctx, conn, migration)
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	var transaction, afterwards uint64
	const current = "SELECT pg_current_xact_id()::text::bigint"
	if err := tx.QueryRow(ctx, current).Scan(&transaction); err != nil {
		return nil, err
	}
	started, err := readWork(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := execute(ctx, conn, migration); err != nil {
		return nil, err
	}
	if err := tx.QueryRow(ctx, current).Scan(&afterwards); err != nil {
		return nil, err
	}
	if transaction != afterwards {
		return nil, errors.New("the migration ends the transaction that it runs in")
	}
	ended, err := readWork(ctx, tx)
	if err != nil {
		return nil, err
	}
	return waiting(before, started, ended), tx.Commit(ctx)
}

// execute sends a migration as golang-migrate does: all statements at once.
func execute(ctx context.Context, conn *pgx.Conn, migration string) error {
	if _, err := conn.PgConn().Exec(ctx, migration).ReadAll(); err != nil {
		return fmt.Errorf("run the migration: %w", err)
	}
	return nil
}

// work is a connection's work on a table. It holds its locks until its transaction ends; its
// scans are counted for longer.
type work struct {
	Table           string
	Locked, Changed bool
	Scans           int64
}

func readWork(ctx context.Context, tx pgx.Tx) ([]work, error) {
	rows, err := tx.Query(ctx, `
		SELECT c.relname::text,
		       EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.relation = c.oid
		           AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')),
		       EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.relation = c.oid AND l.mode = 'RowExclusiveLock'),
		       pg_stat_get_xact_numscans(c.oid)
		FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[work])
}

// waiting returns the findings that make commands wait for longer than a moment: a table scan
// while locks are held, and changed rows that stay locked.
func waiting(before catalogue, started, ended []work) (found []Finding) {
	scans := map[string]int64{}
	for _, w := range started {
		scans[w.Table] = w.Scans
	}
	var locked, scanned []string
	for _, w := range ended {
		if !before.has(table, w.Table) {
			continue
		}
		if w.Locked {
			locked = append(locked, w.Table)
		}
		if w.Scans > scans[w.Table] {
			scanned = append(scanned, w.Table)
		}
		if w.Changed {
			found = append(found, Finding{w.Table, "rows of " + w.Table + " are changed and stay locked", accepts})
		}
	}
	if len(locked) > 0 && len(scanned) > 0 {
		text := "commands on " + strings.Join(locked, ", ") + " wait for a scan of " + strings.Join(scanned, ", ")
		found = append(found, Finding{Text: text})
	}
	return found
}
