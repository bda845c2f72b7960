-- name: PaymentsOfOrder :many
SELECT * FROM payment WHERE order_id = @order_id ORDER BY id;

-- name: RefundsOfOrder :many
SELECT * FROM refund WHERE order_id = @order_id ORDER BY id;

-- name: InsertPayment :exec
INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @order_id, @idempotency_key, @amount, @currency, @method, @status, @created_by, @created_at);

-- name: InsertRefund :exec
INSERT INTO refund (id, payment_id, order_id, idempotency_key, amount, currency, status, reason, rest, created_by, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @payment_id, @order_id, @idempotency_key, @amount, @currency, @status, @reason, @rest, @created_by, @created_at);
