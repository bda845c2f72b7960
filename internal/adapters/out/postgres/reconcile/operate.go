package reconcile

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
)

// listJobs reads the newest jobs in each state. Equal jobs, such as the runs of a schedule
// that fail while the card provider is down, are one line with their number, so that
// they hide no other job.
const listJobs = `SELECT ARRAY[id::text, kind, args, CASE n WHEN 1 THEN state ELSE state || ' x' || n END, attempt::text,
    to_char(scheduled_at, 'YYYY-MM-DD HH24:MI:SS'), regexp_replace(coalesce(failed->>'error', ''), '\s+', ' ', 'g')]
FROM (
    SELECT *, row_number() OVER (PARTITION BY state ORDER BY id DESC) AS line
    FROM (
        SELECT DISTINCT ON (kind, args, state) *, count(*) OVER (PARTITION BY kind, args, state) AS n
        FROM unnest('{available,cancelled,discarded,pending,retryable,running,scheduled}'::river.river_job_state[]) s (wanted), LATERAL (
            SELECT r.id, r.kind, r.args::text, r.state::text, r.attempt, r.scheduled_at, r.errors[cardinality(r.errors)] AS failed
            FROM river.river_job r WHERE r.state = wanted
            ORDER BY r.state DESC, r.queue DESC, r.priority DESC, r.scheduled_at DESC, r.id DESC LIMIT 20000) j
        ORDER BY kind, args, state, id DESC
    ) alike
) newest
WHERE line <= 100
ORDER BY id DESC`

const showJob = `SELECT ARRAY[key, value] FROM river.river_job j, json_each_text(json_strip_nulls(to_json(j))) WHERE id = $1 AND key <> 'errors'
UNION ALL
SELECT ARRAY[format('attempt %s', e->>'attempt'), concat_ws('  ', left(e->>'at', 19), e->>'error')]
FROM river.river_job j, unnest(j.errors) e WHERE id = $1`

var changeJob = map[string]string{
	"retry": `UPDATE river.river_job j SET state = 'available', scheduled_at = now(), finalized_at = NULL,
		max_attempts = greatest(max_attempts, attempt + 1) WHERE id = $1 AND state <> 'running' AND NOT EXISTS (
			SELECT FROM river.river_job o WHERE o.unique_key = j.unique_key AND o.unique_key IS NOT NULL AND o.unique_states IS NOT NULL
				AND river.river_job_state_in_bitmask(o.unique_states, o.state) AND o.id <> j.id)`,
	"discard": `UPDATE river.river_job SET state = 'cancelled', finalized_at = now()
		WHERE id = $1 AND finalized_at IS NULL AND state <> 'running'`,
}

// ListJobs returns a table of up to 100 jobs in each state but completed.
func (s Store) ListJobs(ctx context.Context) ([][]string, error) {
	return s.table(ctx, listJobs)
}

// ShowJob returns the names and values of a job's columns, and the error of each attempt.
func (s Store) ShowJob(ctx context.Context, id int64) ([][]string, error) {
	found, err := s.table(ctx, showJob, id)
	if err == nil && len(found) == 0 {
		err = errors.New("there is no such job")
	}
	return found, err
}

// ChangeJob lets a job "retry" at once or "discard"s it, and adds the audit entry.
func (s Store) ChangeJob(ctx context.Context, verb string, e core.AuditEntry, id int64) error {
	return s.change(ctx, e, "there is no such job, or it runs, or has ended, or another does the same", changeJob[verb], id)
}

// change executes an operator's statement, which must change a row.
func (s Store) change(ctx context.Context, e core.AuditEntry, absent, statement string, args ...any) error {
	return s.operate(ctx, e, func(ctx context.Context, t *pgtx.Tx) error {
		done, err := t.Conn().Exec(ctx, statement, args...)
		if err == nil && done.RowsAffected() == 0 {
			return errors.New(absent)
		}
		return pgtx.Unavailable(err)
	})
}

func (s Store) table(ctx context.Context, query string, args ...any) ([][]string, error) {
	rows, _ := s.db.Pool().Query(ctx, query, args...) // CollectRows returns the error
	return pgx.CollectRows(rows, pgx.RowTo[[]string])
}

// AuditOperation adds the audit entry for an operator's change outside the database.
func (s Store) AuditOperation(ctx context.Context, e core.AuditEntry) error {
	return s.operate(ctx, e, func(context.Context, *pgtx.Tx) error { return nil })
}

const insertOperation = `INSERT INTO audit_log (actor, at, action, resource, metadata)
VALUES ($1, now(), $2, $3, jsonb_build_object('database_role', session_user))`

// operate makes an operator's change and adds its audit entry, which also names the
// database login, in one transaction.
func (s Store) operate(ctx context.Context, e core.AuditEntry, change pgtx.Work) error {
	return s.db.Write(ctx, func(ctx context.Context, t *pgtx.Tx) error {
		if err := change(ctx, t); err != nil {
			return err
		}
		return t.Queue(insertOperation, []any{e.Actor, e.Action, e.Resource})
	})
}
