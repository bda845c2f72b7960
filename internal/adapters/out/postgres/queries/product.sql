-- name: ProductBySKU :many
SELECT * FROM product WHERE sku = @sku;

-- name: ProductExists :one
SELECT EXISTS (SELECT FROM product WHERE sku = @sku);

-- name: LockProduct :many
-- Locks the product only for its seller, or everybody.
SELECT * FROM product
WHERE sku = @sku AND (@everybody::bool OR seller_id = sqlc.narg(as_seller))
FOR UPDATE;

-- name: LockProducts :many
-- Locks products only for their seller, or everybody. They are sorted before they are
-- locked, so that two orders never wait for each other.
SELECT * FROM product
WHERE sku = ANY(@skus::text[]) AND (@everybody::bool OR seller_id = sqlc.narg(as_seller))
ORDER BY sku
FOR UPDATE;

-- name: ProductsOfOthers :many
-- The products that LockProducts leaves out.
SELECT * FROM product
WHERE sku = ANY(@skus::text[]) AND seller_id IS DISTINCT FROM sqlc.narg(as_seller);

-- name: LockStockOfOrder :many
-- Locks the stock only for those who may lock the order.
SELECT * FROM product
WHERE sku = ANY(ARRAY(
    SELECT i.sku FROM order_item i JOIN orders o ON o.id = i.order_id
    WHERE i.order_id = @order_id
      AND (@everybody::bool OR o.customer_id = sqlc.narg(as_customer) OR o.seller_id = sqlc.narg(as_seller))
))
ORDER BY sku
FOR UPDATE;

-- name: ListProducts :many
SELECT * FROM product
WHERE (created_at, id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
ORDER BY created_at DESC, id DESC
LIMIT @rows;

-- name: InsertProduct :exec
INSERT INTO product (sku, id, seller_id, name, price, currency, on_hand, reserved, version, created_at, updated_at)
OVERRIDING SYSTEM VALUE
VALUES (@sku, @id, @seller_id, @name, (@price::text)::numeric, @currency, @on_hand, 0, @version, @created_at, @updated_at);

-- name: UpdateProduct :exec
UPDATE product
SET name = @name, price = (@price::text)::numeric, currency = @currency, on_hand = @on_hand,
    version = @version, updated_at = @updated_at
WHERE sku = @sku;

-- name: UpdateStock :exec
-- Without a join: planned while the table was empty, that reads all of it.
UPDATE product
SET on_hand = (@on_hand::bigint[])[array_position(@skus::text[], sku)],
    reserved = (@reserved::bigint[])[array_position(@skus::text[], sku)],
    version = (@versions::bigint[])[array_position(@skus::text[], sku)]
WHERE sku = ANY(@skus::text[]);

-- name: StockAdjustmentByOperation :many
SELECT * FROM stock_adjustment
WHERE sku = @sku AND created_by = @created_by AND idempotency_key = @idempotency_key;

-- name: InsertStockAdjustment :exec
INSERT INTO stock_adjustment (id, sku, change, on_hand, reason, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @sku, @change, @on_hand, @reason, @created_by, @idempotency_key, @created_at);
