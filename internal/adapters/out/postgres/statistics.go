package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres/dbsqlc"
)

// maxCounted is how many rows are counted for a figure. More of them would take longer to
// count than they are worth.
const maxCounted = 10_000

// Expired returns the number of expired records that have not been deleted, maxCounted if
// there are more.
func (k *Keys) Expired(ctx context.Context) (int64, error) {
	n, err := dbsqlc.New(k.db.pool).CountExpiredRecords(ctx, maxCounted)
	return n, failed("count expired idempotency records", err)
}

// Jobs are the jobs of one kind in one state of River.
type Jobs struct {
	Kind, State string
	Count       int64
	// Oldest is the age of the oldest of them, 0 if there are none.
	Oldest time.Duration
}

// countJobs counts the jobs that are not completed, by kind and state, up to a number of
// them in each state. It reads them along River's index on state, queue, priority and time,
// so that completed jobs, of which there are many, cost nothing.
const countJobs = `WITH states AS (
    SELECT unnest('{available,cancelled,discarded,pending,retryable,running,scheduled}'::river.river_job_state[]) AS state),
counted AS (
    SELECT j.kind, s.state, count(*) AS jobs, min(j.created_at) AS oldest
    FROM states s, LATERAL (SELECT r.kind, r.created_at FROM river.river_job r WHERE r.state = s.state
                            ORDER BY r.state, r.queue, r.priority, r.scheduled_at, r.id LIMIT $2) j
    GROUP BY 1, 2)
SELECT kind, state::text, coalesce(jobs, 0), coalesce(extract(epoch FROM clock_timestamp() - oldest), 0)::float8
FROM unnest($1::text[]) k(kind) CROSS JOIN states LEFT JOIN counted USING (kind, state)`

// CountJobs returns the jobs of kinds in each state but completed, maxCounted of a state at
// most.
func (db *DB) CountJobs(ctx context.Context, kinds []string) ([]Jobs, error) {
	rows, _ := db.pool.Query(ctx, countJobs, kinds, maxCounted) // CollectRows returns the error
	counted, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (j Jobs, err error) {
		var age float64
		err = row.Scan(&j.Kind, &j.State, &j.Count, &age)
		j.Oldest = seconds(age)
		return j, err
	})
	return counted, failed("count jobs", err)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Table is the size of a table.
type Table struct {
	Name string
	// Bytes is the size of the table without its indexes, and IndexBytes that of these.
	Bytes, IndexBytes int64
	// Rows is what the planner estimates, 0 before the first ANALYZE.
	Rows float64
}

// measureTables reads the sizes of our tables and of River's table of jobs.
const measureTables = `SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid), greatest(c.reltuples, 0)::float8
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND (n.nspname = current_schema() OR n.nspname = 'river' AND c.relname = 'river_job')
ORDER BY 1`

// Tables returns the sizes of the tables. To measure a table takes its lock for a moment,
// as a query does. While a migration holds the lock of one, Tables returns none of them:
// other figures must not wait for it.
func (db *DB) Tables(ctx context.Context) ([]Table, error) {
	var tables []Table
	err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '200ms'")
		if err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, measureTables) // CollectRows returns the error
		tables, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Table])
		return err
	})
	if stateOf(safe(err)) == lockNotAvailable {
		return nil, nil
	}
	return tables, failed("measure the tables", err)
}
