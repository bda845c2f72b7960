-- name: ListAuditEntries :many
SELECT * FROM audit_log
WHERE (at, id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
ORDER BY at DESC, id DESC
LIMIT @rows;

-- name: InsertAuditEntries :exec
INSERT INTO audit_log (actor, at, action, resource, metadata)
SELECT unnest(@actors::text[]), @at, unnest(@actions::text[]), unnest(@resources::text[]), unnest(@metadata::text[])::jsonb;
