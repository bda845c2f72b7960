-- name: LockAccount :one
SELECT name FROM account WHERE name = @account FOR UPDATE;

-- name: FindTransfer :one
SELECT id, cents FROM transfer WHERE account = @account AND principal = @principal::text AND key = @key::text;

-- name: InsertTransfer :one
INSERT INTO transfer (account, cents, principal, key) VALUES (@account, @cents, @principal::text, @key::text) RETURNING id;
