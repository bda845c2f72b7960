-- name: OrderByID :many
-- One row a line, in their order.
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = o.id
WHERE o.id = @id
ORDER BY i.line;

-- name: LockOrder :many
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = o.id
WHERE o.id = @id
ORDER BY i.line
FOR UPDATE OF o;

-- name: OrderByOperation :many
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = o.id
WHERE o.customer_id = @customer_id AND o.created_by = @created_by AND o.idempotency_key = @idempotency_key
ORDER BY i.line;

-- name: InsertOrder :exec
INSERT INTO orders (id, customer_id, seller_id, status, total, currency, held_until, version,
                    created_by, idempotency_key, created_at, updated_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @customer_id, @seller_id, @status, @total, @currency, sqlc.narg(held_until), @version,
        @created_by, @idempotency_key, @created_at, @updated_at);

-- name: InsertOrderItems :exec
INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
SELECT @order_id, unnest(@lines::int[]), unnest(@skus::text[]), unnest(@quantities::int[]),
       unnest(@unit_prices::text[])::numeric;

-- name: UpdateOrder :exec
UPDATE orders
SET status = @status, held_until = sqlc.narg(held_until), version = @version, updated_at = @updated_at,
    cancelled_by = sqlc.narg(cancelled_by), cancel_key = sqlc.narg(cancel_key),
    cancel_reason = sqlc.narg(cancel_reason)
WHERE id = @id;
