package reconcile

import (
	"context"
	"time"

	"example.com/orders/internal/core"
)

// listEndpoints reads the newest endpoints that wait, fail or are disabled. The parameters of
// a URL may contain a secret.
const listEndpoints = `SELECT ARRAY[e.id::text, COALESCE(e.seller_id, '*'), split_part(e.url, '?', 1), 'pending ' || n.pending,
    COALESCE('failing since ' || to_char(e.failing_since, 'YYYY-MM-DD HH24:MI:SS'), ''), COALESCE(e.disabled_reason, '')]
FROM webhook_endpoint e, LATERAL (SELECT count(*) AS pending FROM (
    SELECT FROM webhook_delivery d WHERE d.endpoint_id = e.id AND d.status = 'pending' LIMIT 10000) d) n
WHERE e.owner >= '' AND (n.pending > 0 OR e.failing_since IS NOT NULL OR e.disabled_at IS NOT NULL)
ORDER BY e.created_at DESC, e.id DESC LIMIT 100`

// repeatDeliveries includes those that have succeeded if there is a time.
const repeatDeliveries = `UPDATE webhook_delivery SET status = 'pending', attempts = 0, next_attempt_at = now(), finished_at = NULL
WHERE id = ANY(ARRAY(
    SELECT id FROM webhook_delivery WHERE endpoint_id = $1 AND status = 'failed' AND attempts >= 0 AND (event_at >= $2) IS TRUE
    UNION ALL
    SELECT id FROM webhook_delivery WHERE endpoint_id = $1 AND status = 'delivered' AND attempts >= 0 AND (event_at >= $2) IS TRUE
        AND $2 > '0001-01-01Z'))`

const disableEndpoint = `UPDATE webhook_endpoint SET disabled_at = now(), disabled_reason = 'disabled by an operator', updated_at = now()
WHERE id = $1 AND disabled_at IS NULL`

// ListEndpoints returns up to 100 webhook endpoints that wait or fail.
func (s Store) ListEndpoints(ctx context.Context) ([][]string, error) {
	return s.table(ctx, listEndpoints)
}

// RetryDeliveries makes an endpoint's failed deliveries due again or, with a time, all
// that have ended since. It adds the audit entry.
func (s Store) RetryDeliveries(ctx context.Context, e core.AuditEntry, id int64, from time.Time) error {
	return s.change(ctx, e, "there is no such endpoint, or it has no such deliveries", repeatDeliveries, id, from)
}

// DisableEndpoint disables an endpoint, and adds the audit entry. PATCH enables it.
func (s Store) DisableEndpoint(ctx context.Context, e core.AuditEntry, id int64) error {
	return s.change(ctx, e, "there is no such endpoint, or it is disabled", disableEndpoint, id)
}
