-- name: InsertAuditEntry :exec
INSERT INTO audit_log (actor, at, action, resource, metadata) VALUES (@actor, @at, @action, @resource, @metadata);

-- name: ListAuditEntries :many
SELECT * FROM audit_log
WHERE sqlc.narg(before_time)::timestamptz IS NULL
   OR (at, id) < (sqlc.narg(before_time)::timestamptz, @before_id::bigint)
ORDER BY at DESC, id DESC
LIMIT @rows;
