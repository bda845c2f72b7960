-- name: ProductBySKU :many
SELECT * FROM product WHERE sku = @sku;

-- name: ProductExists :one
SELECT EXISTS (SELECT FROM product WHERE sku = @sku);

-- name: LockProduct :many
-- Locks the product only for its seller, or everybody.
SELECT * FROM product
WHERE sku = @sku AND (@everybody::bool OR seller_id = sqlc.narg(as_seller))
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

-- name: StockAdjustmentByOperation :many
SELECT * FROM stock_adjustment
WHERE sku = @sku AND created_by = @created_by AND idempotency_key = @idempotency_key;

-- name: StockReferenceTaken :one
SELECT EXISTS (
    SELECT FROM stock_adjustment
    WHERE sku = @sku AND created_by = @created_by AND reference = @reference AND reference <> ''
);

-- name: InsertStockAdjustment :exec
INSERT INTO stock_adjustment (id, sku, change, on_hand, reason, reference, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @sku, @change, @on_hand, @reason, @reference, @created_by, @idempotency_key, @created_at);

-- name: LockStock :many
-- Locks products, sorted by SKU first, so that two orders never wait for each other: those that everybody may use, those that a seller
-- names, if they are the seller's, and those of the orders that somebody may lock.
SELECT * FROM product
WHERE sku = ANY(ARRAY(
    SELECT unnest(@skus::text[])
    UNION ALL
    SELECT p.sku FROM (SELECT unnest(@skus_of_sellers::text[]) AS sku, unnest(@sellers::text[]) AS seller) s,
    LATERAL (SELECT x.sku, x.seller_id FROM product x WHERE x.sku = s.sku OFFSET 0) p
    WHERE p.seller_id = s.seller
    UNION ALL
    SELECT i.sku
    FROM (SELECT unnest(@order_ids::bigint[]) AS id, unnest(@everybody::bool[]) AS everybody,
                 unnest(@as_customers::text[]) AS as_customer, unnest(@as_sellers::text[]) AS as_seller) a,
    LATERAL (SELECT x.id, x.customer_id, x.seller_id FROM orders x WHERE x.id = a.id OFFSET 0) o,
    LATERAL (SELECT x.sku FROM order_item x WHERE x.order_id = o.id OFFSET 0) i
    WHERE a.everybody OR o.customer_id = a.as_customer OR o.seller_id = a.as_seller
))
ORDER BY sku
FOR UPDATE;

-- name: ProductsBySKU :many
SELECT * FROM product WHERE sku = ANY(@skus::text[]);

-- name: UpdateStockOfMany :exec
-- The first condition lets the rows be found by index, whatever the join is planned to be.
--
-- A product whose stock is not the one that was read gets the version 0, which the table
-- refuses: nobody reads how many rows have changed before COMMIT.
UPDATE product p SET on_hand = w.on_hand, reserved = w.reserved,
    version = CASE WHEN p.version = w.read_version AND p.reserved = w.read_reserved THEN w.version ELSE 0 END
FROM (SELECT unnest(@skus::text[]) AS sku, unnest(@on_hand::bigint[]) AS on_hand, unnest(@reserved::bigint[]) AS reserved,
             unnest(@versions::bigint[]) AS version, unnest(@read_versions::bigint[]) AS read_version,
             unnest(@read_reserved::bigint[]) AS read_reserved) w
WHERE p.sku = ANY(@skus::text[]) AND p.sku = w.sku;

-- name: LockProducts :many
-- Locks products that everybody may use, sorted by SKU first.
SELECT * FROM product WHERE sku = ANY(@skus::text[]) ORDER BY sku FOR UPDATE;

-- name: LockStockOfOrder :many
-- Locks the stock only for those who may lock the order, sorted by SKU first.
SELECT * FROM product
WHERE sku = ANY(ARRAY(
    SELECT i.sku FROM order_item i JOIN orders o ON o.id = i.order_id
    WHERE i.order_id = @id AND (@everybody::bool OR o.customer_id = @as_customer::text OR o.seller_id = @as_seller::text)
))
ORDER BY sku
FOR UPDATE;
