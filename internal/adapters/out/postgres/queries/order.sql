-- name: OrderByID :many
-- One row for each line, in the sequence of the lines.
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = o.id
WHERE o.id = @id
ORDER BY i.line;

-- name: ListOrders :many
-- The orders of everybody. Like all lists of orders, it returns one row a line, and it
-- reads a page of each status that is asked for from an index of its own. The condition
-- without a parameter is the one of that index (see the migration). ANY(ARRAY[…]) leaves
-- PostgreSQL only one way to join: it looks the lines of each order up.
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id FROM unnest(@statuses::text[]) wanted (status), LATERAL (
        SELECT n.id, n.created_at FROM orders n
        WHERE n.status = wanted.status AND n.id > 0
          AND (n.created_at, n.id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
          AND n.created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
        ORDER BY n.created_at DESC, n.id DESC
        LIMIT @rows
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT @rows
))
ORDER BY o.created_at DESC, o.id DESC, i.line;

-- name: ListOrdersOf :many
-- The orders of a customer, of a seller, or of somebody who is both.
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id FROM (
        SELECT bought.* FROM unnest(@statuses::text[]) wanted (status), LATERAL (
            SELECT n.id, n.created_at FROM orders n
            WHERE n.customer_id = sqlc.narg(customer_id) AND n.status = wanted.status AND n.customer_id >= ''
              AND (n.created_at, n.id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
              AND n.created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
            ORDER BY n.created_at DESC, n.id DESC
            LIMIT @rows
        ) bought
        UNION
        SELECT sold.* FROM unnest(@statuses::text[]) wanted (status), LATERAL (
            SELECT n.id, n.created_at FROM orders n
            WHERE n.seller_id = sqlc.narg(seller_id) AND n.status = wanted.status AND n.seller_id >= ''
              AND (n.created_at, n.id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
              AND n.created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
            ORDER BY n.created_at DESC, n.id DESC
            LIMIT @rows
        ) sold
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT @rows
))
ORDER BY o.created_at DESC, o.id DESC, i.line;

-- name: ListOrdersBetween :many
-- The orders that a customer made with a seller.
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id FROM unnest(@statuses::text[]) wanted (status), LATERAL (
        SELECT n.id, n.created_at FROM orders n
        WHERE n.seller_id = @seller_id AND n.customer_id = @customer_id AND n.status = wanted.status
          AND n.seller_id || n.customer_id >= ''
          AND (n.created_at, n.id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
          AND n.created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
        ORDER BY n.created_at DESC, n.id DESC
        LIMIT @rows
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT @rows
))
ORDER BY o.created_at DESC, o.id DESC, i.line;

-- name: ListOrdersByReference :many
-- The orders with a reference that the reader may see: of a customer, if that is asked for,
-- or of a creator, or of everybody. UNION ALL, because one of the three has all of them; for
-- UNION, PostgreSQL 17 reads the whole primary key, which is sorted.
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id FROM (
        SELECT n.id, n.created_at FROM orders n
        WHERE n.customer_id = sqlc.narg(customer_id) AND n.reference = @reference AND n.reference <> ''
          AND (@everybody::bool OR n.created_by = @created_by::text AND (n.customer_id = @as_customer OR n.seller_id = @as_seller::text))
          AND n.status = ANY(@statuses::text[])
          AND (n.created_at, n.id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
          AND n.created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
        UNION ALL
        SELECT created.* FROM unnest(@statuses::text[]) wanted (status), LATERAL (
            SELECT n.id, n.created_at FROM orders n
            WHERE sqlc.narg(customer_id) IS NULL AND NOT @everybody::bool
              AND n.created_by = @created_by AND n.reference = @reference AND n.status = wanted.status
              AND n.reference <> '' AND n.created_by >= ''
              AND (n.customer_id = @as_customer OR n.seller_id = @as_seller)
              AND (n.created_at, n.id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
              AND n.created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
            ORDER BY n.created_at DESC, n.id DESC
            LIMIT @rows
        ) created
        UNION ALL
        SELECT every.* FROM unnest(@statuses::text[]) wanted (status), LATERAL (
            SELECT n.id, n.created_at FROM orders n
            WHERE sqlc.narg(customer_id) IS NULL AND @everybody::bool
              AND n.reference = @reference AND n.status = wanted.status
              AND n.reference <> '' AND n.id > 0
              AND (n.created_at, n.id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
              AND n.created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
            ORDER BY n.created_at DESC, n.id DESC
            LIMIT @rows
        ) every
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT @rows
))
ORDER BY o.created_at DESC, o.id DESC, i.line;

-- name: ExpiredReservations :many
SELECT id, reserved_until::timestamptz AS reserved_until FROM orders
WHERE reserved_until <= statement_timestamp() AND status = 'pending_payment'
  AND (orders.reserved_until, id) > (@after_time::timestamptz, @after_id::bigint)
ORDER BY orders.reserved_until, id
LIMIT @max_orders;

-- name: FindExtension :many
SELECT order_id FROM reservation_extension
WHERE order_id = @order_id AND created_by = @created_by AND idempotency_key = @idempotency_key;

-- name: CountExtensions :one
SELECT count(*) FROM (SELECT FROM reservation_extension WHERE order_id = @order_id LIMIT @at_most) extensions;

-- name: InsertExtension :exec
INSERT INTO reservation_extension (order_id, created_by, idempotency_key, reserved_until, created_at)
VALUES (@order_id, @created_by, @idempotency_key, @reserved_until, @created_at);

-- name: OrdersExist :many
SELECT id FROM orders WHERE id = ANY(@ids::bigint[]);

-- name: LockOrders :many
-- Locks orders by id, each only for those who may: its customer, its seller, or everybody.
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT g.id
    FROM (SELECT unnest(@ids::bigint[]) AS id, unnest(@everybody::bool[]) AS everybody,
                 unnest(@as_customers::text[]) AS as_customer, unnest(@as_sellers::text[]) AS as_seller) a,
    LATERAL (SELECT x.id, x.customer_id, x.seller_id FROM orders x WHERE x.id = a.id OFFSET 0) g
    WHERE a.everybody OR g.customer_id = a.as_customer OR g.seller_id = a.as_seller
))
ORDER BY o.id, i.line
FOR UPDATE OF o;

-- name: OrdersByOperation :many
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id
    FROM (SELECT unnest(@customer_ids::text[]) AS customer_id, unnest(@created_by::text[]) AS created_by, unnest(@idempotency_keys::text[]) AS key) w,
    LATERAL (
        SELECT x.id FROM orders x
        WHERE x.customer_id = w.customer_id AND x.created_by = w.created_by AND x.idempotency_key = w.key
        OFFSET 0
    ) p
))
ORDER BY o.id, i.line;

-- name: OrdersByReference :many
SELECT w.customer_id::text AS customer_id, w.created_by::text AS created_by, w.reference::text AS reference
FROM (SELECT unnest(@customer_ids::text[]) AS customer_id, unnest(@creators::text[]) AS created_by, unnest(@refs::text[]) AS reference) w,
LATERAL (
    SELECT x.id FROM orders x
    WHERE x.customer_id = w.customer_id AND x.created_by = w.created_by AND x.reference = w.reference AND x.reference <> ''
    OFFSET 0
) o;

-- name: LockCreators :exec
-- Transactions that create unpaid orders of one customer as one actor run one after the
-- other. The two numbers are a hash of customer and actor. If two pairs share one by chance,
-- one waits for the other without need; nothing worse happens.
SELECT pg_advisory_xact_lock(w.first, w.second)
FROM (SELECT DISTINCT unnest(@firsts::int[]) AS first, unnest(@seconds::int[]) AS second ORDER BY first, second) w;

-- name: CountUnpaidOrdersOf :many
-- The last condition is the one of the index that no other query repeats.
SELECT w.customer_id::text AS customer_id, w.created_by::text AS created_by, unpaid.orders
FROM (SELECT unnest(@customer_ids::text[]) AS customer_id, unnest(@creators::text[]) AS created_by) w,
LATERAL (
    SELECT count(*) AS orders FROM (
        SELECT FROM orders x
        WHERE x.customer_id = w.customer_id AND x.created_by = w.created_by
          AND x.status IN ('pending_payment', 'payment_processing') AND x.created_by >= ''
        LIMIT @at_most
    ) counted
) unpaid;

-- name: InsertOrders :exec
-- The zero time stands for NULL.
INSERT INTO orders (id, customer_id, seller_id, status, total, currency, reserved_until, version,
                    created_by, idempotency_key, created_at, updated_at, reference)
OVERRIDING SYSTEM VALUE
SELECT unnest(@ids::bigint[]), unnest(@customer_ids::text[]), unnest(@seller_ids::text[]), unnest(@statuses::text[]),
       unnest(@totals::text[])::numeric, unnest(@currencies::text[]),
       NULLIF(unnest(@reserved_until::timestamptz[]), '0001-01-01 00:00:00+00'), unnest(@versions::bigint[]),
       unnest(@created_by::text[]), unnest(@idempotency_keys::text[]),
       unnest(@created_at::timestamptz[]), unnest(@updated_at::timestamptz[]), unnest(@refs::text[]);

-- name: InsertItemsOfOrders :exec
INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
SELECT unnest(@order_ids::bigint[]), unnest(@lines::int[]), unnest(@skus::text[]), unnest(@quantities::int[]),
       unnest(@unit_prices::text[])::numeric;

-- name: UpdateOrders :exec
-- The zero time and an empty actor or key stand for NULL. An
-- order that does not have the version that was read gets the version 0, which the table
-- refuses.
UPDATE orders o
SET status = w.status, reserved_until = NULLIF(w.reserved_until, '0001-01-01 00:00:00+00'), updated_at = w.updated_at,
    version = CASE WHEN o.version = w.read_version THEN w.version ELSE 0 END,
    cancelled_by = NULLIF(w.cancelled_by, ''), cancel_key = NULLIF(w.cancel_key, ''),
    cancel_reason = CASE WHEN w.cancelled_by <> '' THEN w.cancel_reason END
FROM (SELECT unnest(@ids::bigint[]) AS id, unnest(@statuses::text[]) AS status, unnest(@reserved_until::timestamptz[]) AS reserved_until,
             unnest(@versions::bigint[]) AS version, unnest(@read_versions::bigint[]) AS read_version,
             unnest(@updated_at::timestamptz[]) AS updated_at, unnest(@cancelled_by::text[]) AS cancelled_by,
             unnest(@cancel_keys::text[]) AS cancel_key, unnest(@cancel_reasons::text[]) AS cancel_reason) w
WHERE o.id = ANY(@ids::bigint[]) AND o.id = w.id;

-- name: LockOrder :many
SELECT sqlc.embed(o), sqlc.embed(i)
FROM orders o JOIN order_item i ON i.order_id = o.id
WHERE o.id = @id AND (@everybody::bool OR o.customer_id = @as_customer::text OR o.seller_id = @as_seller::text)
ORDER BY i.line
FOR UPDATE OF o;

-- name: UpdateOrder :exec
-- Like UpdateOrders, for one.
UPDATE orders
SET status = @status, reserved_until = sqlc.narg(reserved_until), updated_at = @updated_at,
    version = CASE WHEN version = @read_version::bigint THEN @version::bigint ELSE 0 END,
    cancelled_by = sqlc.narg(cancelled_by), cancel_key = sqlc.narg(cancel_key), cancel_reason = sqlc.narg(cancel_reason)
WHERE id = @id;
