-- name: RenewIncarnation :exec
-- A database with the same rows is another one if it was restored or copied into another
-- cluster (system identifier), if it was promoted or restored to a moment (timeline), or if
-- it was copied within its cluster (OID). Of several processes, one renews the name: the
-- others wait for the row, and then find it renewed.
UPDATE incarnation SET id = gen_random_uuid(), database = this.database
FROM (SELECT concat_ws('/', (pg_control_system()).system_identifier,
                       left(pg_walfile_name(pg_current_wal_lsn()), 8), d.oid) AS database
      FROM pg_catalog.pg_database d WHERE d.datname = current_database()) this
WHERE incarnation.singleton AND incarnation.database <> this.database;

-- name: TakeLease :execrows
-- By this clock only, so that the clocks of the replicas need not agree.
UPDATE relay_lease SET holder = @holder, until = clock_timestamp() + make_interval(secs => @seconds)
WHERE holder = @holder OR until <= clock_timestamp();

-- name: ReleaseLease :exec
UPDATE relay_lease SET until = '-infinity' WHERE holder = @holder;

-- name: UnpublishedEvents :many
SELECT sqlc.embed(outbox), (current_setting('synchronous_standby_names') <> '')::bool AS synchronous
FROM outbox
WHERE published_at IS NULL
ORDER BY id
LIMIT @max_events;

-- name: MarkPublished :exec
-- Without AND published_at IS NULL: that could be planned as a scan of all that waits.
UPDATE outbox SET published_at = clock_timestamp() WHERE event_id = ANY((@ids::text[])::uuid[]);

-- name: DeletePublishedEvents :execrows
-- Only the lowest ids are looked at: events leave in about that order, so those that
-- left long ago are there, and no index on published_at is needed. Rows that another
-- replica deletes are passed over, and those whose deliveries are not written yet.
DELETE FROM outbox WHERE ctid = ANY(ARRAY(
    SELECT o.ctid FROM outbox o
    WHERE o.id <= (SELECT max(lowest.id) FROM (SELECT id FROM outbox ORDER BY id LIMIT @max_events) lowest)
      AND o.published_at <= statement_timestamp() - make_interval(secs => @seconds)
      AND (o.dispatched_at IS NOT NULL OR NOT EXISTS (SELECT FROM webhook_endpoint e WHERE e.created_at <= o.created_at))
    FOR UPDATE SKIP LOCKED
));

-- name: OutboxBacklog :one
-- Counts @max_events at most: a long backlog must not slow down whoever measures it.
SELECT (SELECT count(*) FROM (
            SELECT o.id FROM outbox o WHERE o.published_at IS NULL ORDER BY o.id LIMIT @max_events) waiting) AS events,
       COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - (
           SELECT o.created_at FROM outbox o WHERE o.published_at IS NULL ORDER BY o.id LIMIT 1)), 0)::float8 AS oldest_seconds;

-- name: InsertEvents :exec
-- The column id numbers the events in their sequence. The incarnation is read where they are
-- written, so that all processes change to a new one at the same moment.
INSERT INTO outbox (event_id, incarnation, type, aggregate, data, created_at, traceparent)
SELECT w.event_id, (SELECT i.id FROM incarnation i WHERE i.singleton), w.type, w.aggregate, w.data::jsonb, @created_at,
       NULLIF(w.traceparent, '')
FROM (SELECT unnest((@event_ids::text[])::uuid[]) AS event_id, unnest(@types::text[]) AS type, unnest(@aggregates::text[]) AS aggregate,
             unnest(@data::text[]) AS data, unnest(@traceparents::text[]) AS traceparent) w;

-- name: InsertEvent :exec
-- The incarnation is read where the event is written, so that all processes change to a
-- new one at the same moment.
INSERT INTO outbox (event_id, incarnation, type, aggregate, data, created_at, traceparent)
VALUES (@event_id, (SELECT i.id FROM incarnation i WHERE i.singleton), @type, @aggregate, @data, @created_at,
        NULLIF(@traceparent::text, ''));
