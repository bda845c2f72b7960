-- name: ClaimKeys :many
-- Tries the locks of keys, one row for each, in their sequence. It never waits: a duplicate
-- learns at once that it is second, and releases its connection. An empty lock timeout
-- leaves the setting as it is.
SELECT pg_try_advisory_xact_lock(w.id) AS locked, b.now, b.server_started, b.synchronous, b.standby
FROM (SELECT now()::timestamptz AS now, pg_postmaster_start_time()::timestamptz AS server_started,
             (current_setting('synchronous_standby_names') <> '')::bool AS synchronous, pg_is_in_recovery() AS standby,
             set_config('lock_timeout', coalesce(nullif(@lock_timeout::text, ''), current_setting('lock_timeout')), true)
      OFFSET 0) b,
     (SELECT unnest(@ids::bigint[]) AS id) w;

-- name: AwaitKey :exec
-- For a command that had the key in a group that failed: the server grants the lock to
-- waiters before it lets another transaction try.
SELECT pg_advisory_xact_lock(@id);

-- name: LookAtKey :one
-- Whether a transaction holds the lock of a key. The lock is read and not tried: a first
-- request that came meanwhile would find it taken, and be told that it is second.
SELECT EXISTS (
           SELECT FROM pg_catalog.pg_locks l
           WHERE l.locktype = 'advisory' AND (l.classid::bigint << 32) | l.objid::bigint = @id::bigint AND l.objsubid = 1
             AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
       ) AS held, pg_postmaster_start_time()::timestamptz AS server_started,
       (current_setting('synchronous_standby_names') <> '')::bool AS synchronous, pg_is_in_recovery() AS standby;

-- name: DeleteExpiredRecord :exec
DELETE FROM idempotency_record WHERE scope = @scope AND key = @key AND expires_at <= clock_timestamp();

-- name: AwaitReplication :exec
-- Writes nothing that anybody reads, but makes COMMIT wait for the synchronous standby, as
-- the COMMIT of what was read did.
SELECT pg_logical_emit_message(true, 'orders', '');

-- name: DeleteExpiredRecords :execrows
-- A batch, the oldest first. Locked rows are skipped, so that neither traffic nor another
-- replica waits. The subquery reads only expired rows, by the index on expires_at:
-- clock_timestamp() cannot be looked up in an index, and deleting by ctid leaves no other
-- plan to choose.
DELETE FROM idempotency_record WHERE ctid = ANY(ARRAY(
    SELECT r.ctid FROM idempotency_record r
    WHERE r.expires_at <= statement_timestamp()
    ORDER BY r.expires_at
    LIMIT @max_records
    FOR UPDATE SKIP LOCKED
));

-- name: FindRecords :many
-- Expiry is measured by this clock only. An expired record that is still present counts as
-- absent.
SELECT r.scope, r.key, r.fingerprint, r.operation, r.status, r.content_type, r.location, r.body, r.created_at, r.expires_at,
       r.replayed_for, r.expires_at <= clock_timestamp() AS expired,
       coalesce(r.created_at + r.replayed_for <= clock_timestamp(), false)::bool AS spent
FROM (SELECT unnest(@scopes::text[]) AS scope, unnest(@keys::text[]) AS key) w,
LATERAL (SELECT * FROM idempotency_record i WHERE i.scope = w.scope AND i.key = w.key OFFSET 0) r;

-- name: InsertRecords :exec
INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at, replayed_for)
SELECT unnest(@scopes::text[]), unnest(@keys::text[]), unnest(@fingerprints::bytea[]), unnest(@operations::text[]),
       unnest(@statuses::smallint[]), unnest(@content_types::text[]), unnest(@locations::text[]), unnest(@bodies::bytea[]),
       @created_at, unnest(@expires_at::timestamptz[]), nullif(unnest(@replayed_for::interval[]), '0');

-- name: CountExpiredRecords :one
-- Counts @max_records at most: many of them must not slow down whoever counts.
SELECT count(*) FROM (
    SELECT FROM idempotency_record r WHERE r.expires_at <= now() ORDER BY r.expires_at LIMIT @max_records) expired;

-- name: InsertRecord :exec
INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at, replayed_for)
VALUES (@scope, @key, @fingerprint, @operation, @status, @content_type, @location, @body, @created_at, @expires_at, nullif(@replayed_for::interval, '0'));
