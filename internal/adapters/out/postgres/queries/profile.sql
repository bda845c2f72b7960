-- name: ProfileOf :many
SELECT * FROM customer_profile WHERE customer_id = @customer_id;

-- name: LockProfile :many
SELECT * FROM customer_profile WHERE customer_id = @customer_id FOR UPDATE;

-- name: InsertProfile :exec
INSERT INTO customer_profile (customer_id, full_name, email, phone, created_at, updated_at)
VALUES (@customer_id, @full_name, @email, @phone, @created_at, @updated_at);

-- name: UpdateProfile :exec
UPDATE customer_profile
SET full_name = @full_name, email = @email, phone = @phone, updated_at = @updated_at
WHERE customer_id = @customer_id;

-- name: DeleteProfile :exec
DELETE FROM customer_profile WHERE customer_id = @customer_id;
