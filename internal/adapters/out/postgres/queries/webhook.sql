-- name: EndpointByID :many
SELECT * FROM webhook_endpoint WHERE id = @id;

-- name: EndpointExists :one
SELECT EXISTS (SELECT FROM webhook_endpoint WHERE id = @id);

-- name: LockEndpoint :many
-- Locks the endpoint only for its seller, or everybody. Its deliveries may still be written.
SELECT * FROM webhook_endpoint
WHERE id = @id AND (@everybody::bool OR seller_id = sqlc.narg(as_seller))
FOR NO KEY UPDATE;

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
VALUES (@id, @owner, @seller_id, @url, @event_types, @description, @ordered, @secret, @created_at, @updated_at);

-- name: UpdateEndpoint :exec
UPDATE webhook_endpoint
SET url = @url, event_types = @event_types, description = @description, ordered = @ordered,
    failing_since = @failing_since, disabled_at = @disabled_at, disabled_reason = @disabled_reason, updated_at = @updated_at
WHERE id = @id;

-- name: ReplaceSecret :exec
UPDATE webhook_endpoint SET previous_secret = secret, previous_until = @previous_until, secret = @secret WHERE id = @id;

-- name: DeleteEndpoint :exec
DELETE FROM webhook_endpoint WHERE id = @id;

-- name: LockDelivery :many
-- The sum keeps the indexes of the endpoint out of the plan.
SELECT * FROM webhook_delivery
WHERE id = @id AND endpoint_id + 0 = @endpoint_id::bigint
FOR NO KEY UPDATE;

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
VALUES (@id, @endpoint_id, @event_id, @event_type, @aggregate, 0, @body, @created_at, @created_at, @created_at);

-- name: UpdateDelivery :exec
UPDATE webhook_delivery
SET status = @status, attempts = @attempts, next_attempt_at = @next_attempt_at, response_status = @response_status,
    response_start = @response_start, error = @error, finished_at = @finished_at
WHERE id = @id;
