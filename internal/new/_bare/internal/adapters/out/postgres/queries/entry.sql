-- name: DrawEntryID :one
SELECT nextval('entry_id_seq');

-- name: FindEntry :many
SELECT * FROM entry WHERE id = @id;

-- name: EntryCreatedBy :many
SELECT * FROM entry WHERE created_by = @created_by AND idempotency_key = @idempotency_key;

-- name: InsertEntry :exec
INSERT INTO entry (id, amount, currency, description, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @amount, @currency, @description, @created_by, @idempotency_key, @created_at);
