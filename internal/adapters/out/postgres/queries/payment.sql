-- name: PaymentsOfOrder :many
SELECT * FROM payment WHERE order_id = @order_id ORDER BY id;

-- name: RefundsOfOrder :many
SELECT r.* FROM refund r JOIN payment p ON p.id = r.payment_id WHERE p.order_id = @order_id ORDER BY r.id;

-- name: InsertPayment :exec
INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @order_id, @idempotency_key, @amount, @currency, @method, @status, @created_by, @created_at);
