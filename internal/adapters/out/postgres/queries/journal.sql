-- name: InsertEvent :exec
INSERT INTO outbox (type, aggregate, data, created_at) VALUES (@type, @aggregate, @data, @created_at);

-- name: InsertAuditEntry :exec
INSERT INTO audit_log (actor, at, action, resource, metadata) VALUES (@actor, @at, @action, @resource, @metadata);
