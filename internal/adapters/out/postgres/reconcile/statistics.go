// Package reconcile compares database rows with each other, and measures tables.
package reconcile

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres/pgtx"
)

// Store compares and measures one database's rows.
type Store struct{ db *pgtx.DB }

// New returns a Store.
func New(db *pgtx.DB) Store { return Store{db} }

// maxCounted limits counts for metrics: an exact count beyond it is not worth its time.
const maxCounted = 10_000

// Jobs counts one job kind in one River state.
type Jobs struct {
	Kind, State string
	Count       int64
	// Oldest is the oldest job's age, 0 if there are none.
	Oldest time.Duration
}

// countJobs counts jobs by kind and state, without completed ones, up to a limit per
// state. It follows River's index on state, queue, priority and time, so that the many
// completed jobs cost nothing.
const countJobs = `WITH states AS (
    SELECT unnest('{available,cancelled,discarded,pending,retryable,running,scheduled}'::river.river_job_state[]) AS state),
counted AS (
    SELECT j.kind, s.state, count(*) AS jobs, min(j.created_at) AS oldest
    FROM states s, LATERAL (SELECT r.kind, r.created_at FROM river.river_job r WHERE r.state = s.state
                            ORDER BY r.state, r.queue, r.priority, r.scheduled_at, r.id LIMIT $2) j
    GROUP BY 1, 2)
SELECT kind, state::text, coalesce(jobs, 0), coalesce(extract(epoch FROM clock_timestamp() - oldest), 0)::float8
FROM unnest($1::text[]) k(kind) CROSS JOIN states LEFT JOIN counted USING (kind, state)`

// CountJobs returns the jobs by kind in each state but completed, at most maxCounted
// per state.
func (s Store) CountJobs(ctx context.Context, kinds []string) ([]Jobs, error) {
	rows, _ := s.db.Pool().Query(ctx, countJobs, kinds, maxCounted) // CollectRows returns the error
	counted, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (j Jobs, err error) {
		var age float64
		err = row.Scan(&j.Kind, &j.State, &j.Count, &age)
		j.Oldest = seconds(age)
		return j, err
	})
	return counted, pgtx.Failed("count jobs", err)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Table is a table's size.
type Table struct {
	Name string
	// Bytes is the size without indexes; IndexBytes is the indexes' size.
	Bytes, IndexBytes int64
	// Rows is the planner's estimate, 0 before the first ANALYZE.
	Rows float64
}

// measureTables reads the sizes for the service's tables and River's job table.
const measureTables = `SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid), greatest(c.reltuples, 0)::float8
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND (n.nspname = current_schema() OR n.nspname = 'river' AND c.relname = 'river_job')
ORDER BY 1`

// Tables returns the table sizes. Measuring a table briefly takes its lock, as a query
// does. While a migration holds one, Tables returns nil: other metrics must not wait
// for it.
func (s Store) Tables(ctx context.Context) ([]Table, error) {
	var tables []Table
	err := s.db.Look(ctx, func(ctx context.Context, t *pgtx.Tx) (err error) {
		t.LockTimeout = "200ms"
		if _, err := t.LoadFirst(ctx); err != nil {
			return err
		}
		rows, _ := t.Conn().Query(ctx, measureTables) // CollectRows returns the error
		if tables, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Table]); err != nil {
			return pgtx.Unavailable(err)
		}
		return pgtx.ErrNothingToCommit
	})
	if pgtx.LockTimedOut(err) {
		return nil, nil
	}
	return tables, pgtx.Failed("measure the tables", err)
}
