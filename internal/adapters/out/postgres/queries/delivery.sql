-- name: UndispatchedEvents :many
-- None while there is no endpoint, or while another replica writes deliveries.
SELECT * FROM outbox
WHERE dispatched_at IS NULL AND EXISTS (SELECT FROM webhook_endpoint)
  AND (SELECT pg_try_advisory_xact_lock(hashtext('webhook_delivery')))
ORDER BY id
LIMIT @max_events;

-- name: InsertDeliveries :exec
-- A seller's endpoint gets the events that name the seller, or an order of theirs. Repeated,
-- the statement inserts what is missing.
INSERT INTO webhook_delivery (endpoint_id, event_id, event_type, aggregate, position, body, event_at, created_at, next_attempt_at)
SELECT e.id, v.event_id, v.type, v.aggregate, v.id, w.body, v.created_at, statement_timestamp(), statement_timestamp()
FROM (SELECT unnest((@event_ids::text[])::uuid[]) AS event_id, unnest(@bodies::text[]) AS body,
             unnest(@patterns::text[]) AS patterns) w,
LATERAL (
    SELECT o.*, COALESCE(o.data ->> 'seller_id', (SELECT r.seller_id FROM orders r WHERE r.id = (o.data ->> 'order_id')::bigint)) AS seller_id
    FROM outbox o WHERE o.event_id = w.event_id LIMIT 1
) v,
LATERAL (
    SELECT m.id, m.event_types, m.created_at FROM webhook_endpoint m WHERE m.seller_id IS NULL
    UNION ALL
    SELECT m.id, m.event_types, m.created_at FROM webhook_endpoint m WHERE m.seller_id = v.seller_id AND m.seller_id >= ''
) e
WHERE e.created_at <= v.created_at AND e.event_types && string_to_array(w.patterns, ' ')
ORDER BY v.id
ON CONFLICT (endpoint_id, event_id) DO NOTHING;

-- name: MarkDispatched :exec
UPDATE outbox SET dispatched_at = clock_timestamp() WHERE event_id = ANY((@ids::text[])::uuid[]);

-- name: DueEndpoints :many
-- Leaps from one endpoint with pending deliveries to the next, so that neither a backlog nor
-- the other endpoints count.
WITH RECURSIVE waiting AS (
    (SELECT endpoint_id FROM webhook_delivery WHERE status = 'pending' ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.endpoint_id FROM webhook_delivery d WHERE d.status = 'pending' AND d.endpoint_id > w.endpoint_id
            ORDER BY d.endpoint_id LIMIT 1)
    FROM waiting w WHERE w.endpoint_id IS NOT NULL
)
SELECT w.endpoint_id FROM waiting w
WHERE (SELECT e.disabled_at IS NULL FROM webhook_endpoint e WHERE e.id = w.endpoint_id)
  AND (SELECT d.next_attempt_at FROM webhook_delivery d WHERE d.endpoint_id = w.endpoint_id AND d.status = 'pending'
       ORDER BY d.next_attempt_at LIMIT 1) <= statement_timestamp()
ORDER BY random()
LIMIT @max_endpoints;

-- name: LockOrderedEndpoint :exec
SELECT FROM webhook_endpoint WHERE id = @endpoint_id AND ordered FOR NO KEY UPDATE;

-- name: ClaimDeliveries :many
-- Rows that another replica claims are passed over. A delivery of an ordered endpoint that
-- follows a pending one of its aggregate is due after that one, or when that one has ended:
-- however many follow, a claim reads few, and they hide none that goes first.
WITH candidate AS (
    SELECT c.id, c.next_attempt_at, CASE WHEN (SELECT e.ordered FROM webhook_endpoint e WHERE e.id = @endpoint_id) THEN (
            SELECT b.next_attempt_at FROM webhook_delivery b
            WHERE b.endpoint_id = c.endpoint_id AND b.aggregate = c.aggregate AND b.status = 'pending' AND b.position < c.position
            ORDER BY b.position LIMIT 1) END AS follows
    FROM webhook_delivery c
    WHERE c.endpoint_id = @endpoint_id AND c.status = 'pending' AND c.next_attempt_at <= statement_timestamp()
      AND (SELECT e.disabled_at IS NULL FROM webhook_endpoint e WHERE e.id = @endpoint_id)
    ORDER BY c.next_attempt_at
    LIMIT (SELECT CASE WHEN e.ordered THEN 8 ELSE 1 END * @max_deliveries::bigint FROM webhook_endpoint e WHERE e.id = @endpoint_id)
    FOR UPDATE SKIP LOCKED
), waiting AS (
    UPDATE webhook_delivery d
    SET next_attempt_at = (SELECT c.follows + interval '1 microsecond' FROM candidate c WHERE c.id = d.id)
    WHERE d.id = ANY(ARRAY(SELECT c.id FROM candidate c WHERE c.follows >= c.next_attempt_at))
)
UPDATE webhook_delivery d
SET attempts = d.attempts + 1, next_attempt_at = statement_timestamp() + make_interval(secs => @hidden_seconds)
FROM webhook_endpoint e
WHERE e.id = @endpoint_id AND d.id = ANY(ARRAY(
    SELECT c.id FROM candidate c WHERE c.follows IS NULL ORDER BY c.next_attempt_at LIMIT @max_deliveries))
RETURNING d.id, d.attempts, d.event_id, d.body, e.url, e.secret,
          (CASE WHEN e.previous_until > statement_timestamp() THEN COALESCE(e.previous_secret, '') ELSE '' END)::text AS previous_secret;

-- name: DeleteOldDeliveries :execrows
-- Rows that another replica deletes are passed over.
DELETE FROM webhook_delivery WHERE ctid = ANY(ARRAY(
    SELECT d.ctid FROM webhook_delivery d
    WHERE d.event_at <= statement_timestamp() - make_interval(secs => @seconds)
    ORDER BY d.event_at
    LIMIT @max_deliveries
    FOR UPDATE SKIP LOCKED
));

-- name: DeliveryBacklog :one
-- Counts @max_rows at most. The oldest one is that which this service could have sent: an event
-- without deliveries, or a delivery that is due, at an endpoint that answers.
WITH RECURSIVE waiting AS (
    (SELECT endpoint_id FROM webhook_delivery WHERE status = 'pending' ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.endpoint_id FROM webhook_delivery d WHERE d.status = 'pending' AND d.endpoint_id > w.endpoint_id
            ORDER BY d.endpoint_id LIMIT 1)
    FROM waiting w WHERE w.endpoint_id IS NOT NULL
)
SELECT (SELECT count(*) FROM (SELECT FROM webhook_delivery d WHERE d.status = 'pending' ORDER BY d.endpoint_id LIMIT @max_rows) d) AS pending,
       (SELECT count(*) FROM (SELECT FROM webhook_endpoint e WHERE e.disabled_at IS NOT NULL ORDER BY e.disabled_at LIMIT @max_rows) e) AS disabled,
       GREATEST(0, EXTRACT(EPOCH FROM clock_timestamp() - LEAST(
           (SELECT o.created_at FROM outbox o WHERE o.dispatched_at IS NULL AND EXISTS (SELECT FROM webhook_endpoint)
            ORDER BY o.id LIMIT 1),
           (SELECT min(first.due) FROM waiting w, LATERAL (
                SELECT d.next_attempt_at AS due FROM webhook_delivery d
                WHERE d.endpoint_id = w.endpoint_id AND d.status = 'pending'
                  AND (SELECT e.disabled_at IS NULL AND e.failing_since IS NULL FROM webhook_endpoint e WHERE e.id = w.endpoint_id)
                ORDER BY d.next_attempt_at LIMIT 1) first))))::float8 AS oldest_seconds;
