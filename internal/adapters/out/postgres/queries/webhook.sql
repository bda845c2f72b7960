-- name: EndpointByID :many
SELECT * FROM webhook_endpoint WHERE id = @id;

-- name: LockEndpoint :many
-- Its deliveries may still be written.
SELECT * FROM webhook_endpoint WHERE id = @id FOR NO KEY UPDATE;

-- name: LockOwner :exec
SELECT pg_advisory_xact_lock(hashtext('webhook_endpoint'), hashtext(@owner::text));

-- name: EndpointsOfOwner :many
SELECT * FROM webhook_endpoint WHERE owner = @owner;

-- name: ListEndpoints :many
-- The conditions without a parameter, here and below, are those of the indexes (see migration 37).
SELECT * FROM webhook_endpoint
WHERE owner >= '' AND (created_at, id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
ORDER BY created_at DESC, id DESC
LIMIT @rows;

-- name: ListEndpointsOfSeller :many
SELECT * FROM webhook_endpoint
WHERE seller_id = @seller_id AND seller_id >= ''
  AND (created_at, id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
ORDER BY created_at DESC, id DESC
LIMIT @rows;

-- name: NextEndpointID :one
SELECT nextval('webhook_endpoint_id_seq');

-- name: InsertEndpoint :exec
INSERT INTO webhook_endpoint (id, owner, seller_id, url, event_types, description, ordered, secret, created_at, updated_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @owner, @seller_id, @url, @event_types, @description, @ordered, @secret, @created_at, @created_at);

-- name: UpdateEndpoint :exec
-- A new secret moves the present one aside.
UPDATE webhook_endpoint
SET url = @url, event_types = @event_types, description = @description, ordered = @ordered,
    secret = COALESCE(sqlc.narg(new_secret), secret),
    previous_secret = CASE WHEN sqlc.narg(new_secret)::text IS NULL THEN previous_secret ELSE secret END,
    previous_until = CASE WHEN sqlc.narg(new_secret)::text IS NULL THEN previous_until ELSE sqlc.narg(previous_until)::timestamptz END,
    failing_since = @failing_since, disabled_at = @disabled_at, disabled_reason = @disabled_reason, updated_at = @updated_at
WHERE id = @id;

-- name: DeleteEndpoint :exec
DELETE FROM webhook_endpoint WHERE id = @id;

-- name: ListDeliveries :many
-- Reads a page of each wanted status from the index.
SELECT * FROM webhook_delivery
WHERE id = ANY(ARRAY(
    SELECT p.id FROM unnest(@statuses::text[]) wanted (status), LATERAL (
        SELECT n.id FROM webhook_delivery n
        WHERE n.endpoint_id = @endpoint_id AND n.status = wanted.status AND n.attempts >= 0
          AND n.id < COALESCE(sqlc.narg(before_id)::bigint, 9223372036854775807)
        ORDER BY n.id DESC
        LIMIT @rows
    ) p
    ORDER BY p.id DESC
    LIMIT @rows
))
ORDER BY id DESC;

-- name: NextDelivery :one
-- The id of a delivery, and what an event written now has as its source.
SELECT nextval('webhook_delivery_id_seq') AS id, i.id AS incarnation FROM incarnation i WHERE i.singleton;

-- name: InsertDelivery :exec
-- An event for one endpoint, which has no place among those of the outbox.
INSERT INTO webhook_delivery (id, endpoint_id, event_id, event_type, aggregate, position, body, event_at, created_at, next_attempt_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @endpoint_id, @event_id, @event_type, @aggregate, 0, @body, @now, @now, @now);

-- name: LockDelivery :many
-- The sum keeps the indexes of the endpoint out of the plan.
SELECT * FROM webhook_delivery
WHERE id = @id AND endpoint_id + 0 = @endpoint_id::bigint
FOR NO KEY UPDATE;

-- name: RetryDelivery :exec
UPDATE webhook_delivery
SET status = 'pending', attempts = 0, next_attempt_at = @now, finished_at = NULL,
    response_status = NULL, response_start = NULL, error = NULL
WHERE id = @id;

-- name: RecordAttempt :exec
-- The end of a delivery lets the next one of its aggregate go, which an ordered endpoint held
-- back. No finished_at is a pending delivery, and keeps the indexes of those out of the plan.
WITH recorded AS (
    UPDATE webhook_delivery w
    SET status = @status, next_attempt_at = @next_attempt_at, response_status = @response_status,
        response_start = @response_start, error = @error, finished_at = @finished_at
    WHERE w.id = @id AND w.finished_at IS NULL AND w.attempts = @attempts
    RETURNING w.endpoint_id, w.aggregate, w.position, w.status
)
UPDATE webhook_delivery SET next_attempt_at = statement_timestamp()
WHERE id = ANY(ARRAY(
    SELECT n.id FROM recorded r, LATERAL (
        SELECT d.id FROM webhook_delivery d
        WHERE d.endpoint_id = r.endpoint_id AND d.aggregate = r.aggregate AND d.status = 'pending' AND d.position > r.position
        ORDER BY d.position LIMIT 1) n
    WHERE r.status <> 'pending' AND (SELECT e.ordered FROM webhook_endpoint e WHERE e.id = r.endpoint_id)));
