-- name: ProfileOf :many
SELECT * FROM customer_profile WHERE customer_id = @customer_id;

-- name: PutProfile :exec
INSERT INTO customer_profile (customer_id, full_name, email, phone, updated_at)
VALUES (@customer_id, @full_name, @email, @phone, @updated_at)
ON CONFLICT (customer_id) DO UPDATE
SET full_name = excluded.full_name, email = excluded.email, phone = excluded.phone, updated_at = excluded.updated_at;
