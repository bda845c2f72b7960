-- name: InsertEvent :exec
INSERT INTO outbox (type, aggregate, data, created_at) VALUES (@type, @aggregate, @data, @created_at);

-- name: TakeLease :execrows
-- By this clock only, so that the clocks of the replicas need not agree.
UPDATE relay_lease SET holder = @holder, until = clock_timestamp() + make_interval(secs => @seconds)
WHERE holder = @holder OR until <= clock_timestamp();

-- name: ReleaseLease :exec
UPDATE relay_lease SET until = '-infinity' WHERE holder = @holder;

-- name: UnpublishedEvents :many
SELECT id, type, aggregate, schema_version, created_at, data FROM outbox
WHERE published_at IS NULL
ORDER BY id
LIMIT @max_events;

-- name: MarkPublished :exec
UPDATE outbox SET published_at = clock_timestamp() WHERE id = ANY(@ids::bigint[]) AND published_at IS NULL;

-- name: DeletePublishedEvents :execrows
-- Only the lowest ids are looked at: events leave in about that order, so those that
-- left long ago are there, and no index on published_at is needed. Rows that another
-- replica deletes are passed over.
DELETE FROM outbox WHERE ctid = ANY(ARRAY(
    SELECT o.ctid FROM outbox o
    WHERE o.id <= (SELECT max(lowest.id) FROM (SELECT id FROM outbox ORDER BY id LIMIT @max_events) lowest)
      AND o.published_at <= statement_timestamp() - make_interval(secs => @seconds)
    FOR UPDATE SKIP LOCKED
));

-- name: OutboxBacklog :one
SELECT count(*) AS events,
       COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - (
           SELECT o.created_at FROM outbox o WHERE o.published_at IS NULL ORDER BY o.id LIMIT 1)), 0)::float8 AS oldest_seconds
FROM outbox WHERE published_at IS NULL;
