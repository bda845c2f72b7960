package lookup

// findOrders reads the newest of a customer and with a reference in each status, as the
// indexes have them. With a key, it keeps those that the key created or paid.
const findOrders = `SELECT o.id AS "order", o.customer_id AS customer, o.seller_id AS seller, o.status,
    trim_scale(o.total) || ' ' || o.currency AS amount, o.reference, o.created_by || ' ' || o.idempotency_key AS key,
    concat_ws(': ', o.cancelled_by, nullif(o.cancel_reason, '')) AS "cancelled by", o.created_at AS created, o.updated_at AS updated
FROM orders o WHERE o.id = ANY(ARRAY(
    SELECT $1::bigint
    UNION ALL SELECT p.order_id FROM payment p WHERE p.id = $1
    UNION ALL SELECT r.order_id FROM refund r WHERE r.id = $1
    UNION ALL SELECT p.order_id FROM payment p WHERE p.provider = 'stripe' AND p.external_payment_id = $2
    UNION ALL SELECT n.id
    FROM unnest('{pending_payment,payment_processing,paid,fulfilling,shipped,delivered,cancelled}'::text[]) s (status), LATERAL (
        (SELECT c.id, c.idempotency_key FROM orders c WHERE c.customer_id = $3 AND c.status = s.status AND c.customer_id >= ''
         ORDER BY c.created_at DESC, c.id DESC LIMIT 50)
        UNION ALL
        (SELECT r.id, $4 FROM orders r WHERE r.reference = $2 AND r.status = s.status AND r.reference <> '' AND r.id > 0
         ORDER BY r.created_at DESC, r.id DESC LIMIT 50)
    ) n WHERE $4 IN ('', n.idempotency_key) OR EXISTS (SELECT FROM payment p WHERE p.order_id = n.id AND p.idempotency_key = $4)
)) ORDER BY o.created_at DESC, o.id DESC LIMIT 20`

const findMoney = `SELECT p.id AS payment, NULL AS refund, p.order_id AS "order", p.method AS by, p.status,
    trim_scale(p.amount) || ' ' || p.currency AS amount, p.failure AS why, p.external_payment_id AS "at the provider",
    p.created_by || ' ' || p.idempotency_key AS key, p.created_at AS created
FROM payment p WHERE p.order_id = ANY($1::bigint[])
UNION ALL
SELECT r.payment_id, r.id::text, r.order_id, 'refund', r.status, trim_scale(r.amount) || ' ' || r.currency,
    concat_ws(': ', r.failure, nullif(r.reason, '')), r.external_refund_id, r.created_by || ' ' || r.idempotency_key, r.created_at
FROM refund r WHERE r.order_id = ANY($1)
UNION ALL
SELECT d.payment_id, NULL, d.order_id, 'dispute', d.status, trim_scale(d.amount) || ' ' || d.currency, d.reason, d.external_id, NULL, d.created_at
FROM dispute d WHERE d.order_id = ANY($1) ORDER BY created DESC LIMIT 100`

const findEntries = `SELECT DISTINCT ON (e.created_at, e.id) e.id AS "ledger entry", e.kind, trim_scale(e.amount) || ' ' || e.currency AS amount,
    e.debit || ' → ' || e.credit AS moved, e.payment_id AS payment, e.refund_id AS refund, e.reference,
    e.created_by || ' ' || e.idempotency_key AS key, e.created_at AS created
FROM (
    SELECT * FROM ledger_entry l WHERE l.payment_id = ANY(ARRAY(SELECT p.id FROM payment p WHERE p.order_id = ANY($1::bigint[]))) AND l.kind = 'payment'
    UNION ALL SELECT * FROM ledger_entry l WHERE l.refund_id = ANY(ARRAY(SELECT r.id FROM refund r WHERE r.order_id = ANY($1)))
    UNION ALL (SELECT * FROM ledger_entry l WHERE l.customer_id = $2 AND l.balance_after IS NOT NULL ORDER BY l.created_at DESC, l.id DESC LIMIT 50)
) e ORDER BY e.created_at DESC, e.id DESC LIMIT 100`

// findKeys reads the records for all keys that the orders name, one key, or a principal.
const findKeys = `SELECT u.principal || ' ' || u.key AS key, r.operation, CASE WHEN r.key IS NULL THEN 'no record' WHEN r.expires_at <= now() THEN 'expired'
    WHEN r.status < 300 THEN 'took effect' WHEN r.created_at + r.replayed_for <= now() THEN 'refused, spent' ELSE 'refused' END AS outcome,
    r.status, CASE r.content_type WHEN 'application/problem+json' THEN convert_from(r.body, 'UTF8')::jsonb ->> 'code' END AS why,
    r.created_at AS created, r.expires_at AS expires
FROM (
    SELECT o.created_by, o.idempotency_key FROM orders o WHERE o.id = ANY($1::bigint[])
    UNION SELECT o.cancelled_by, o.cancel_key FROM orders o WHERE o.id = ANY($1)
    UNION SELECT p.created_by, p.idempotency_key FROM payment p WHERE p.order_id = ANY($1)
    UNION SELECT f.created_by, f.idempotency_key FROM refund f WHERE f.order_id = ANY($1)
    UNION SELECT $3, $4
    UNION (SELECT $3, x.key FROM idempotency_record x WHERE $4 = '' AND x.scope = $2 || replace($3, '%', '%25') ORDER BY x.key LIMIT 50)
) u (principal, key)
LEFT JOIN LATERAL (SELECT * FROM idempotency_record x WHERE x.scope = $2 || replace(u.principal, '%', '%25') AND x.key = u.key LIMIT 1) r ON true
WHERE u.key <> '' AND (r.key IS NOT NULL OR cardinality($1) > 0) ORDER BY r.created_at DESC NULLS LAST LIMIT 100`

const findJobs = `SELECT j.id AS job, j.kind, w.id AS of, j.state, j.attempt, j.scheduled_at AS next, j.errors[cardinality(j.errors)] ->> 'error' AS why
FROM (
    SELECT 'settle_payment' AS kind, p.id FROM payment p WHERE p.order_id = ANY($1::bigint[])
    UNION ALL SELECT 'settle_refund', r.id FROM refund r WHERE r.order_id = ANY($1)
) w, LATERAL (SELECT * FROM river.river_job x WHERE x.unique_key = convert_to(w.kind || '/' || w.id, 'UTF8') AND x.unique_key IS NOT NULL
    AND x.unique_states IS NOT NULL AND river.river_job_state_in_bitmask(x.unique_states, x.state) LIMIT 1) j LIMIT 100`

const findEvents = `SELECT e.id AS "waiting event", e.type, e.aggregate, e.created_at AS created
FROM (SELECT * FROM outbox x WHERE x.published_at IS NULL ORDER BY x.id DESC LIMIT 1000) e
WHERE (e.data ->> 'order_id')::bigint = ANY($1::bigint[])`

const findDeliveries = `SELECT d.endpoint_id AS "webhook endpoint", d.event_type AS event, d.aggregate, d.status, d.attempts,
    d.response_status AS response, d.error AS why, d.next_attempt_at AS next, d.event_at AS created
FROM (
    SELECT e.id FROM webhook_endpoint e WHERE e.seller_id = ANY(ARRAY(SELECT o.seller_id FROM orders o WHERE o.id = ANY($1::bigint[]))) AND e.seller_id >= ''
    UNION ALL SELECT e.id FROM webhook_endpoint e WHERE e.seller_id IS NULL LIMIT 20
) n, unnest('{pending,failed,delivered}'::text[]) s (status),
LATERAL (SELECT * FROM webhook_delivery x WHERE x.endpoint_id = n.id AND x.status = s.status AND x.attempts >= 0 ORDER BY x.id DESC LIMIT 100) d
WHERE d.aggregate = ANY(ARRAY(SELECT 'order/' || i FROM unnest($1) i UNION ALL SELECT 'payment/' || p.id FROM payment p WHERE p.order_id = ANY($1)))
ORDER BY d.id DESC LIMIT 100`
