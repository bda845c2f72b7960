package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres/pgtx"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/webhook"
)

// listEndpoints reads the newest endpoints that wait, fail or are disabled. The parameters of
// a URL may contain a secret.
const listEndpoints = `SELECT ARRAY[e.id::text, COALESCE(e.seller_id, '*'), split_part(e.url, '?', 1),
    'pending ' || (SELECT count(*) FROM (
        SELECT FROM webhook_delivery d WHERE d.endpoint_id = e.id AND d.status = 'pending' ORDER BY d.next_attempt_at LIMIT 10000) d),
    'failed ' || (SELECT count(*) FROM (
        SELECT FROM webhook_delivery d WHERE d.endpoint_id = e.id AND d.status = 'failed' AND d.attempts >= 0 ORDER BY d.id DESC LIMIT 10000) d),
    COALESCE('due ' || to_char((SELECT d.next_attempt_at FROM webhook_delivery d
        WHERE d.endpoint_id = e.id AND d.status = 'pending' ORDER BY d.next_attempt_at LIMIT 1), 'YYYY-MM-DD HH24:MI:SS'), ''),
    COALESCE('failing since ' || to_char(e.failing_since, 'YYYY-MM-DD HH24:MI:SS'), ''), COALESCE(e.disabled_reason, '')]
FROM webhook_endpoint e
WHERE e.owner >= '' AND (e.disabled_at IS NOT NULL OR e.failing_since IS NOT NULL OR (
    SELECT d.next_attempt_at FROM webhook_delivery d
    WHERE d.endpoint_id = e.id AND d.status = 'pending' ORDER BY d.next_attempt_at LIMIT 1) IS NOT NULL)
ORDER BY e.created_at DESC, e.id DESC
LIMIT 100`

const showEndpoint = `SELECT ARRAY[d.id::text, d.event_id::text, d.event_type, d.status, 'attempts ' || d.attempts,
    to_char(d.event_at, 'YYYY-MM-DD HH24:MI:SS'), concat_ws(' ', d.error, d.response_status)]
FROM unnest('{pending,delivered,failed}'::text[]) s (wanted), LATERAL (
    SELECT w.id, w.event_id, w.event_type, w.status, w.attempts, w.event_at, w.error, w.response_status
    FROM webhook_delivery w WHERE w.endpoint_id = $1 AND w.status = wanted AND w.attempts >= 0 ORDER BY w.id DESC LIMIT 100) d
ORDER BY d.id DESC LIMIT 100`

const repeatDeliveries = `UPDATE webhook_delivery SET status = 'pending', attempts = 0, next_attempt_at = now(), finished_at = NULL
WHERE endpoint_id = $1 AND attempts >= 0 AND status = ANY($2) AND (event_at >= $3) IS TRUE`

const disableEndpoint = `UPDATE webhook_endpoint SET disabled_at = now(), disabled_reason = 'disabled by an operator', updated_at = now()
WHERE id = $1 AND disabled_at IS NULL`

// ListEndpoints returns a table of up to 100 webhook endpoints that wait or fail.
func (s Store) ListEndpoints(ctx context.Context) ([][]string, error) {
	rows, _ := s.db.Pool().Query(ctx, listEndpoints) // CollectRows returns the error
	return pgx.CollectRows(rows, pgx.RowTo[[]string])
}

// ShowEndpoint returns a table of the last 100 deliveries of an endpoint.
func (s Store) ShowEndpoint(ctx context.Context, id int64) ([][]string, error) {
	rows, _ := s.db.Pool().Query(ctx, showEndpoint, id) // CollectRows returns the error
	return pgx.CollectRows(rows, pgx.RowTo[[]string])
}

// RetryDeliveries makes the failed deliveries of an endpoint due again or, with a time, all
// that have ended since. It adds the audit entry.
func (s Store) RetryDeliveries(ctx context.Context, e core.AuditEntry, id int64, from time.Time) error {
	ended := []webhook.Status{webhook.Failed, webhook.Delivered}
	if from.IsZero() {
		ended = ended[:1]
	}
	return s.change(ctx, e, "there is no such endpoint, or it has no such deliveries", repeatDeliveries, id, ended, from)
}

// DisableEndpoint disables an endpoint, and adds the audit entry. PATCH enables it.
func (s Store) DisableEndpoint(ctx context.Context, e core.AuditEntry, id int64) error {
	return s.change(ctx, e, "there is no such endpoint, or it is disabled", disableEndpoint, id)
}

// change executes an operator's statement, which must change at least one row.
func (s Store) change(ctx context.Context, e core.AuditEntry, absent, statement string, args ...any) error {
	return s.operate(ctx, e, func(ctx context.Context, t *pgtx.Tx) error {
		done, err := t.Conn().Exec(ctx, statement, args...)
		if err == nil && done.RowsAffected() == 0 {
			return errors.New(absent)
		}
		return pgtx.Unavailable(err)
	})
}
