-- name: InsertAuditEntries :exec
INSERT INTO audit_log (actor, at, action, resource, metadata)
SELECT unnest($1::text[]), $2, unnest($3::text[]), unnest($4::text[]), unnest($5::text[])::jsonb

-- name: InsertAuditEntry :exec
INSERT INTO audit_log (actor, at, action, resource, metadata) VALUES ($1, $2, $3, $4, $5)

-- name: ListAuditEntries :many
SELECT id, actor, at, action, resource, metadata FROM audit_log
WHERE (at, id) < (COALESCE($1::timestamptz, 'infinity'), $2::bigint)
ORDER BY at DESC, id DESC
LIMIT $3

-- name: BalancesOf :many
SELECT customer_id, currency, amount, position, changed_at FROM balance WHERE customer_id = $1 ORDER BY currency

-- name: InsertBalance :exec
INSERT INTO balance (customer_id, currency, amount, position, changed_at)
VALUES ($1, $2, ($3::text)::numeric, $4, $5)

-- name: InsertBalances :exec
INSERT INTO balance (customer_id, currency, amount, position, changed_at)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[])::numeric,
       unnest($4::bigint[]), unnest($5::timestamptz[])

-- name: InsertLedgerEntries :exec
INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, payment_id, refund_id,
                      description, reference, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
SELECT w.id, w.kind, w.debit, w.credit, w.amount::numeric, w.currency, NULLIF(w.customer_id, ''), NULLIF(w.balance_after, '')::numeric, w.position,
       NULLIF(w.payment_id, 0), NULLIF(w.refund_id, 0), w.description, w.reference,
       NULLIF(w.created_by, ''), NULLIF(w.key, ''), w.created_at
FROM (SELECT unnest($1::bigint[]) AS id, unnest($2::text[]) AS kind, unnest($3::text[]) AS debit, unnest($4::text[]) AS credit,
             unnest($5::text[]) AS amount, unnest($6::text[]) AS currency, unnest($7::text[]) AS customer_id,
             unnest($8::text[]) AS balance_after, unnest($9::bigint[]) AS position,
             unnest($10::bigint[]) AS payment_id, unnest($11::bigint[]) AS refund_id,
             unnest($12::text[]) AS description, unnest($13::text[]) AS reference,
             unnest($14::text[]) AS created_by, unnest($15::text[]) AS key,
             unnest($16::timestamptz[]) AS created_at) w

-- name: InsertLedgerEntry :exec
INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, payment_id, refund_id,
                      description, reference, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
VALUES ($1, $2, $3, $4, ($5::text)::numeric, $6, $7, ($8::text)::numeric, $9, $10, $11,
        $12, $13, $14, $15, $16)

-- name: LedgerEntriesByOperation :many
SELECT e.id, e.kind, e.debit, e.credit, e.amount, e.currency, e.customer_id, e.balance_after, e.payment_id, e.refund_id, e.description, e.reference, e.created_by, e.idempotency_key, e.created_at, e.position
FROM (SELECT unnest($1::text[]) AS customer_id, unnest($2::text[]) AS created_by, unnest($3::text[]) AS key) w,
LATERAL (
    SELECT id, kind, debit, credit, amount, currency, customer_id, balance_after, payment_id, refund_id, description, reference, created_by, idempotency_key, created_at, position FROM ledger_entry x
    WHERE x.customer_id = w.customer_id AND x.created_by = w.created_by AND x.idempotency_key = w.key
    OFFSET 0
) e

-- name: LedgerEntriesByReference :many
SELECT w.customer_id::text AS customer_id, w.kind::text AS kind, w.reference::text AS reference
FROM (SELECT unnest($1::text[]) AS customer_id, unnest($2::text[]) AS kind, unnest($3::text[]) AS reference) w,
LATERAL (
    SELECT x.id FROM ledger_entry x
    WHERE x.customer_id = w.customer_id AND x.kind = w.kind AND x.reference = w.reference AND x.reference <> ''
    OFFSET 0
) e

-- name: LedgerEntryByOperation :many
SELECT id, kind, debit, credit, amount, currency, customer_id, balance_after, payment_id, refund_id, description, reference, created_by, idempotency_key, created_at, position FROM ledger_entry
WHERE customer_id = $1 AND created_by = $2 AND idempotency_key = $3

-- name: LedgerEntryByReference :many
SELECT id FROM ledger_entry
WHERE customer_id = $1 AND kind = $2 AND reference = $3 AND reference <> ''

-- name: ListLedgerEntries :many
SELECT id, kind, debit, credit, amount, currency, customer_id, balance_after, payment_id, refund_id, description, reference, created_by, idempotency_key, created_at, position FROM ledger_entry
WHERE customer_id = $1 AND balance_after IS NOT NULL
  AND (created_at, id) < (COALESCE($2::timestamptz, 'infinity'), $3::bigint)
  AND created_at >= COALESCE($4::timestamptz, '-infinity')
ORDER BY created_at DESC, id DESC
LIMIT $5

-- name: ListLedgerEntriesByReference :many
SELECT id, kind, debit, credit, amount, currency, customer_id, balance_after, payment_id, refund_id, description, reference, created_by, idempotency_key, created_at, position FROM ledger_entry
WHERE id = ANY(ARRAY(
    SELECT found.id FROM unnest(ARRAY['credit', 'charge', 'payment', 'refund']) wanted (kind), LATERAL (
        SELECT e.id FROM ledger_entry e
        WHERE e.customer_id = $1 AND e.kind = wanted.kind AND e.reference = $2 AND e.reference <> ''
        LIMIT 1
    ) found
))
  AND (created_at, id) < (COALESCE($3::timestamptz, 'infinity'), $4::bigint)
  AND created_at >= COALESCE($5::timestamptz, '-infinity')
ORDER BY created_at DESC, id DESC
LIMIT $6

-- name: LockBalance :many
SELECT customer_id, currency, amount, position, changed_at FROM balance WHERE customer_id = $1 AND currency = $2 FOR UPDATE

-- name: LockBalanceOfOrder :many
SELECT customer_id, currency, amount, position, changed_at FROM balance
WHERE (customer_id, currency) = (
    SELECT o.customer_id, o.currency FROM orders o
    WHERE o.id = $1
      AND ($2::bool OR o.customer_id = $3 OR o.seller_id = $4)
)
FOR UPDATE

-- name: LockBalances :many
SELECT b.customer_id, b.currency, b.amount, b.position, b.changed_at
FROM (
    SELECT n.customer_id, n.currency FROM (SELECT unnest($1::text[]) AS customer_id, unnest($2::text[]) AS currency) n
    UNION
    SELECT o.customer_id, o.currency
    FROM (SELECT unnest($3::bigint[]) AS id, unnest($4::bool[]) AS everybody,
                 unnest($5::text[]) AS as_customer, unnest($6::text[]) AS as_seller) a,
    LATERAL (SELECT x.customer_id, x.seller_id, x.currency FROM orders x WHERE x.id = a.id OFFSET 0) o
    WHERE a.everybody OR o.customer_id = a.as_customer OR o.seller_id = a.as_seller
    ORDER BY customer_id, currency
) w,
LATERAL (SELECT customer_id, currency, amount, position, changed_at FROM balance x WHERE x.customer_id = w.customer_id AND x.currency = w.currency FOR UPDATE) b

-- name: UpdateBalance :exec
UPDATE balance SET amount = ($1::text)::numeric, position = $2, changed_at = $3
WHERE customer_id = $4 AND currency = $5

-- name: UpdateBalances :exec
UPDATE balance b SET amount = w.amount::numeric, position = w.position, changed_at = w.changed_at
FROM (SELECT unnest($1::text[]) AS customer_id, unnest($2::text[]) AS currency, unnest($3::text[]) AS amount,
             unnest($4::bigint[]) AS position, unnest($5::timestamptz[]) AS changed_at) w
WHERE b.customer_id = ANY($1::text[]) AND b.customer_id = w.customer_id AND b.currency = w.currency

-- name: AwaitKey :exec
SELECT pg_advisory_xact_lock($1)

-- name: AwaitReplication :exec
SELECT pg_logical_emit_message(true, 'orders', '')

-- name: BeginGroup :one
SELECT now()::timestamptz AS now, pg_postmaster_start_time()::timestamptz AS server_started,
       (current_setting('synchronous_standby_names') <> '')::bool AS synchronous,
       set_config('lock_timeout', $1, true) AS lock_timeout

-- name: DeleteExpiredRecord :exec
DELETE FROM idempotency_record WHERE scope = $1 AND key = $2 AND expires_at <= clock_timestamp()

-- name: DeleteExpiredRecords :execrows
DELETE FROM idempotency_record WHERE ctid = ANY(ARRAY(
    SELECT r.ctid FROM idempotency_record r
    WHERE r.expires_at <= statement_timestamp()
    ORDER BY r.expires_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
))

-- name: FindRecord :many
SELECT r.scope, r.key, r.fingerprint, r.operation, r.status, r.content_type, r.location, r.body, r.created_at, r.expires_at, r.expires_at <= clock_timestamp() AS expired
FROM idempotency_record r WHERE r.scope = $1 AND r.key = $2

-- name: FindRecords :many
SELECT r.scope, r.key, r.fingerprint, r.operation, r.status, r.content_type, r.location, r.body, r.created_at, r.expires_at,
       r.expires_at <= clock_timestamp() AS expired, now()::timestamptz AS now,
       pg_postmaster_start_time()::timestamptz AS server_started,
       (current_setting('synchronous_standby_names') <> '')::bool AS synchronous
FROM (SELECT unnest($1::text[]) AS scope, unnest($2::text[]) AS key) w,
LATERAL (SELECT scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at FROM idempotency_record i WHERE i.scope = w.scope AND i.key = w.key OFFSET 0) r

-- name: InsertRecord :exec
INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

-- name: InsertRecords :exec
INSERT INTO idempotency_record (scope, key, fingerprint, operation, status, content_type, location, body, created_at, expires_at)
SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::bytea[]), unnest($4::text[]),
       unnest($5::smallint[]), unnest($6::text[]), unnest($7::text[]), unnest($8::bytea[]),
       $9, unnest($10::timestamptz[])

-- name: LookAtKey :one
SELECT EXISTS (
           SELECT FROM pg_catalog.pg_locks l
           WHERE l.locktype = 'advisory' AND (l.classid::bigint << 32) | l.objid::bigint = $1::bigint AND l.objsubid = 1
             AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
       ) AS held,
       (current_setting('synchronous_standby_names') <> '')::bool AS synchronous

-- name: TryLockKey :one
SELECT pg_try_advisory_xact_lock($1) AS locked, now()::timestamptz AS now,
       pg_postmaster_start_time()::timestamptz AS server_started,
       (current_setting('synchronous_standby_names') <> '')::bool AS synchronous

-- name: TryLockKeys :many
SELECT pg_try_advisory_xact_lock(w.id) AS locked FROM (SELECT unnest($1::bigint[]) AS id) w

-- name: DeleteOldMessages :execrows
DELETE FROM processed_message WHERE ctid = ANY(ARRAY(
    SELECT m.ctid FROM processed_message m
    WHERE m.processed_at < statement_timestamp() - interval '30 days'
    ORDER BY m.processed_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
))

-- name: FindMessage :many
SELECT processed_at FROM processed_message WHERE source = $1 AND message_id = $2

-- name: InsertMessage :exec
INSERT INTO processed_message (source, message_id, processed_at) VALUES ($1, $2, $3)

-- name: CountExtensions :one
SELECT count(*) FROM (SELECT FROM reservation_extension WHERE order_id = $1 LIMIT $2) extensions

-- name: CountUnpaidOrders :one
SELECT count(*) FROM (
    SELECT FROM orders
    WHERE customer_id = $1 AND created_by = $2
      AND status IN ('pending_payment', 'payment_processing') AND created_by >= ''
    LIMIT $3
) unpaid

-- name: CountUnpaidOrdersOf :many
SELECT w.customer_id::text AS customer_id, w.created_by::text AS created_by, unpaid.orders
FROM (SELECT unnest($1::text[]) AS customer_id, unnest($2::text[]) AS created_by) w,
LATERAL (
    SELECT count(*) AS orders FROM (
        SELECT FROM orders x
        WHERE x.customer_id = w.customer_id AND x.created_by = w.created_by
          AND x.status IN ('pending_payment', 'payment_processing') AND x.created_by >= ''
        LIMIT $3
    ) counted
) unpaid

-- name: ExpiredReservations :many
SELECT id, reserved_until::timestamptz AS reserved_until FROM orders
WHERE reserved_until <= statement_timestamp() AND status = 'pending_payment'
  AND (orders.reserved_until, id) > ($1::timestamptz, $2::bigint)
ORDER BY orders.reserved_until, id
LIMIT $3

-- name: FindExtension :many
SELECT order_id FROM reservation_extension
WHERE order_id = $1 AND created_by = $2 AND idempotency_key = $3

-- name: InsertExtension :exec
INSERT INTO reservation_extension (order_id, created_by, idempotency_key, reserved_until, created_at)
VALUES ($1, $2, $3, $4, $5)

-- name: InsertItemsOfOrders :exec
INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
SELECT unnest($1::bigint[]), unnest($2::int[]), unnest($3::text[]), unnest($4::int[]),
       unnest($5::text[])::numeric

-- name: InsertOrder :exec
INSERT INTO orders (id, customer_id, seller_id, status, total, currency, reserved_until, version,
                    created_by, idempotency_key, created_at, updated_at, reference)
OVERRIDING SYSTEM VALUE
VALUES ($1, $2, $3, $4, ($5::text)::numeric, $6, $7, $8,
        $9, $10, $11, $12, $13)

-- name: InsertOrderItems :exec
INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
SELECT $1, unnest($2::int[]), unnest($3::text[]), unnest($4::int[]),
       unnest($5::text[])::numeric

-- name: InsertOrders :exec
INSERT INTO orders (id, customer_id, seller_id, status, total, currency, reserved_until, version,
                    created_by, idempotency_key, created_at, updated_at, reference)
OVERRIDING SYSTEM VALUE
SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]),
       unnest($5::text[])::numeric, unnest($6::text[]),
       NULLIF(unnest($7::timestamptz[]), '0001-01-01 00:00:00+00'), unnest($8::bigint[]),
       unnest($9::text[]), unnest($10::text[]),
       unnest($11::timestamptz[]), unnest($12::timestamptz[]), unnest($13::text[])

-- name: ListOrders :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id FROM unnest($1::text[]) wanted (status), LATERAL (
        SELECT n.id, n.created_at FROM orders n
        WHERE n.status = wanted.status AND n.id > 0
          AND (n.created_at, n.id) < (COALESCE($2::timestamptz, 'infinity'), $3::bigint)
          AND n.created_at >= COALESCE($4::timestamptz, '-infinity')
        ORDER BY n.created_at DESC, n.id DESC
        LIMIT $5
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT $5
))
ORDER BY o.created_at DESC, o.id DESC, i.line

-- name: ListOrdersBetween :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id FROM unnest($1::text[]) wanted (status), LATERAL (
        SELECT n.id, n.created_at FROM orders n
        WHERE n.seller_id = $2 AND n.customer_id = $3 AND n.status = wanted.status
          AND n.seller_id || n.customer_id >= ''
          AND (n.created_at, n.id) < (COALESCE($4::timestamptz, 'infinity'), $5::bigint)
          AND n.created_at >= COALESCE($6::timestamptz, '-infinity')
        ORDER BY n.created_at DESC, n.id DESC
        LIMIT $7
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT $7
))
ORDER BY o.created_at DESC, o.id DESC, i.line

-- name: ListOrdersByReference :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id FROM (
        SELECT n.id, n.created_at FROM orders n
        WHERE n.customer_id = $1 AND n.reference = $2 AND n.reference <> ''
          AND n.status = ANY($3::text[]) AND ($4::text IS NULL OR n.seller_id = $4)
          AND (n.created_at, n.id) < (COALESCE($5::timestamptz, 'infinity'), $6::bigint)
          AND n.created_at >= COALESCE($7::timestamptz, '-infinity')
        UNION
        SELECT sold.id, sold.created_at FROM unnest($3::text[]) wanted (status), LATERAL (
            SELECT n.id, n.created_at FROM orders n
            WHERE n.seller_id = $8 AND n.reference = $2 AND n.status = wanted.status
              AND n.reference <> '' AND n.seller_id >= ''
              AND (n.created_at, n.id) < (COALESCE($5::timestamptz, 'infinity'), $6::bigint)
              AND n.created_at >= COALESCE($7::timestamptz, '-infinity')
            ORDER BY n.created_at DESC, n.id DESC
            LIMIT $9
        ) sold
        UNION
        SELECT every.id, every.created_at FROM unnest($3::text[]) wanted (status), LATERAL (
            SELECT n.id, n.created_at FROM orders n
            WHERE $10::bool AND n.reference = $2 AND n.status = wanted.status
              AND n.reference <> '' AND n.id > 0
              AND (n.created_at, n.id) < (COALESCE($5::timestamptz, 'infinity'), $6::bigint)
              AND n.created_at >= COALESCE($7::timestamptz, '-infinity')
            ORDER BY n.created_at DESC, n.id DESC
            LIMIT $9
        ) every
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT $9
))
ORDER BY o.created_at DESC, o.id DESC, i.line

-- name: ListOrdersOf :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id FROM (
        SELECT bought.id, bought.created_at FROM unnest($1::text[]) wanted (status), LATERAL (
            SELECT n.id, n.created_at FROM orders n
            WHERE n.customer_id = $2 AND n.status = wanted.status AND n.customer_id >= ''
              AND (n.created_at, n.id) < (COALESCE($3::timestamptz, 'infinity'), $4::bigint)
              AND n.created_at >= COALESCE($5::timestamptz, '-infinity')
            ORDER BY n.created_at DESC, n.id DESC
            LIMIT $6
        ) bought
        UNION
        SELECT sold.id, sold.created_at FROM unnest($1::text[]) wanted (status), LATERAL (
            SELECT n.id, n.created_at FROM orders n
            WHERE n.seller_id = $7 AND n.status = wanted.status AND n.seller_id >= ''
              AND (n.created_at, n.id) < (COALESCE($3::timestamptz, 'infinity'), $4::bigint)
              AND n.created_at >= COALESCE($5::timestamptz, '-infinity')
            ORDER BY n.created_at DESC, n.id DESC
            LIMIT $6
        ) sold
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT $6
))
ORDER BY o.created_at DESC, o.id DESC, i.line

-- name: LockCreator :exec
SELECT pg_advisory_xact_lock($1::int, $2::int)

-- name: LockCreators :exec
SELECT pg_advisory_xact_lock(w.first, w.second)
FROM (SELECT DISTINCT unnest($1::int[]) AS first, unnest($2::int[]) AS second ORDER BY first, second) w

-- name: LockOrder :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = o.id
WHERE o.id = $1
  AND ($2::bool OR o.customer_id = $3 OR o.seller_id = $4)
ORDER BY i.line
FOR UPDATE OF o

-- name: LockOrders :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT g.id
    FROM (SELECT unnest($1::bigint[]) AS id, unnest($2::bool[]) AS everybody,
                 unnest($3::text[]) AS as_customer, unnest($4::text[]) AS as_seller) a,
    LATERAL (SELECT x.id, x.customer_id, x.seller_id FROM orders x WHERE x.id = a.id OFFSET 0) g
    WHERE a.everybody OR g.customer_id = a.as_customer OR g.seller_id = a.as_seller
))
ORDER BY o.id, i.line
FOR UPDATE OF o

-- name: OrderByID :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = o.id
WHERE o.id = $1
ORDER BY i.line

-- name: OrderByOperation :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = o.id
WHERE o.id = (
    SELECT p.id FROM orders p
    WHERE p.customer_id = $1 AND p.created_by = $2 AND p.idempotency_key = $3
)
ORDER BY i.line

-- name: OrderByReference :many
SELECT id FROM orders WHERE customer_id = $1 AND reference = $2 AND reference <> ''

-- name: OrderExists :one
SELECT EXISTS (SELECT FROM orders WHERE id = $1)

-- name: OrdersByOperation :many
SELECT o.id, o.customer_id, o.seller_id, o.status, o.total, o.currency, o.reserved_until, o.version, o.created_by, o.idempotency_key, o.cancelled_by, o.cancel_key, o.cancel_reason, o.created_at, o.updated_at, o.reference, i.order_id, i.line, i.sku, i.quantity, i.unit_price
FROM orders o JOIN order_item i ON i.order_id = ANY(ARRAY[o.id])
WHERE o.id = ANY(ARRAY(
    SELECT p.id
    FROM (SELECT unnest($1::text[]) AS customer_id, unnest($2::text[]) AS created_by, unnest($3::text[]) AS key) w,
    LATERAL (
        SELECT x.id FROM orders x
        WHERE x.customer_id = w.customer_id AND x.created_by = w.created_by AND x.idempotency_key = w.key
        OFFSET 0
    ) p
))
ORDER BY o.id, i.line

-- name: OrdersByReference :many
SELECT w.customer_id::text AS customer_id, w.reference::text AS reference
FROM (SELECT unnest($1::text[]) AS customer_id, unnest($2::text[]) AS reference) w,
LATERAL (SELECT x.id FROM orders x WHERE x.customer_id = w.customer_id AND x.reference = w.reference AND x.reference <> '' OFFSET 0) o

-- name: OrdersExist :many
SELECT id FROM orders WHERE id = ANY($1::bigint[])

-- name: UpdateOrder :exec
UPDATE orders
SET status = $1, reserved_until = $2, version = $3, updated_at = $4,
    cancelled_by = $5, cancel_key = $6,
    cancel_reason = $7
WHERE id = $8

-- name: UpdateOrders :exec
UPDATE orders o
SET status = w.status, reserved_until = NULLIF(w.reserved_until, '0001-01-01 00:00:00+00'), version = w.version, updated_at = w.updated_at
FROM (SELECT unnest($1::bigint[]) AS id, unnest($2::text[]) AS status, unnest($3::timestamptz[]) AS reserved_until,
             unnest($4::bigint[]) AS version, unnest($5::timestamptz[]) AS updated_at) w
WHERE o.id = ANY($1::bigint[]) AND o.id = w.id

-- name: DeletePublishedEvents :execrows
DELETE FROM outbox WHERE ctid = ANY(ARRAY(
    SELECT o.ctid FROM outbox o
    WHERE o.id <= (SELECT max(lowest.id) FROM (SELECT id FROM outbox ORDER BY id LIMIT $1) lowest)
      AND o.published_at <= statement_timestamp() - make_interval(secs => $2)
    FOR UPDATE SKIP LOCKED
))

-- name: InsertEvent :exec
INSERT INTO outbox (event_id, incarnation, type, aggregate, data, created_at)
VALUES ($1, (SELECT i.id FROM incarnation i WHERE i.singleton), $2, $3, $4, $5)

-- name: InsertEvents :exec
INSERT INTO outbox (event_id, incarnation, type, aggregate, data, created_at)
SELECT w.event_id, (SELECT i.id FROM incarnation i WHERE i.singleton), w.type, w.aggregate, w.data::jsonb, $1
FROM (SELECT unnest($2::uuid[]) AS event_id, unnest($3::text[]) AS type, unnest($4::text[]) AS aggregate,
             unnest($5::text[]) AS data) w

-- name: MarkPublished :exec
UPDATE outbox SET published_at = clock_timestamp() WHERE event_id = ANY($1::uuid[])

-- name: OutboxBacklog :one
SELECT (SELECT count(*) FROM (
            SELECT o.id FROM outbox o WHERE o.published_at IS NULL ORDER BY o.id LIMIT $1) waiting) AS events,
       COALESCE(EXTRACT(EPOCH FROM clock_timestamp() - (
           SELECT o.created_at FROM outbox o WHERE o.published_at IS NULL ORDER BY o.id LIMIT 1)), 0)::float8 AS oldest_seconds

-- name: ReleaseLease :exec
UPDATE relay_lease SET until = '-infinity' WHERE holder = $1

-- name: RenewIncarnation :exec
UPDATE incarnation SET id = gen_random_uuid(), database = this.database
FROM (SELECT concat_ws('/', (pg_control_system()).system_identifier,
                       left(pg_walfile_name(pg_current_wal_lsn()), 8), d.oid) AS database
      FROM pg_catalog.pg_database d WHERE d.datname = current_database()) this
WHERE incarnation.singleton AND incarnation.database <> this.database

-- name: TakeLease :execrows
UPDATE relay_lease SET holder = $1, until = clock_timestamp() + make_interval(secs => $2)
WHERE holder = $1 OR until <= clock_timestamp()

-- name: UnpublishedEvents :many
SELECT event_id, incarnation, type, aggregate, schema_version, created_at, data FROM outbox
WHERE published_at IS NULL
ORDER BY id
LIMIT $1

-- name: InsertPayment :exec
INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, provider, card_token, created_by, created_at)
OVERRIDING SYSTEM VALUE
VALUES ($1, $2, $3, ($4::text)::numeric, $5, $6, $7, $8, $9, $10, $11)

-- name: InsertPayments :exec
INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, provider, card_token, created_by, created_at)
OVERRIDING SYSTEM VALUE
SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::text[]), unnest($4::text[])::numeric,
       unnest($5::text[]), unnest($6::text[]), unnest($7::text[]),
       NULLIF(unnest($8::text[]), ''), NULLIF(unnest($9::text[]), ''),
       unnest($10::text[]), unnest($11::timestamptz[])

-- name: InsertRefund :exec
INSERT INTO refund (id, payment_id, order_id, idempotency_key, amount, currency, status, reason, full_refund, created_by, created_at)
OVERRIDING SYSTEM VALUE
VALUES ($1, $2, $3, $4, ($5::text)::numeric, $6, $7, $8, $9, $10, $11)

-- name: OrderOfPayment :many
SELECT order_id FROM payment WHERE id = $1

-- name: OrderOfPaymentUUID :many
SELECT order_id FROM payment WHERE uuid = $1

-- name: OrderOfRefund :many
SELECT order_id FROM refund WHERE id = $1

-- name: OrderOfRefundUUID :many
SELECT order_id FROM refund WHERE uuid = $1

-- name: PaymentByID :many
SELECT p.id, p.order_id, p.idempotency_key, p.amount, p.currency, p.method, p.status, p.created_by, p.created_at, p.provider, p.external_payment_id, p.card_token, p.failure, p.uuid, p.asked_at, o.customer_id, o.seller_id
FROM payment p JOIN orders o ON o.id = ANY(ARRAY[p.order_id])
WHERE p.id = $1

-- name: PaymentOfCharge :many
SELECT id FROM payment WHERE provider = 'stripe' AND external_payment_id = $1::text

-- name: PaymentsOfOrder :many
SELECT id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at, provider, external_payment_id, card_token, failure, uuid, asked_at FROM payment WHERE order_id = $1 ORDER BY created_at DESC, id DESC

-- name: PaymentsOfOrders :many
SELECT p.id, p.order_id, p.idempotency_key, p.amount, p.currency, p.method, p.status, p.created_by, p.created_at, p.provider, p.external_payment_id, p.card_token, p.failure, p.uuid, p.asked_at FROM (SELECT unnest($1::bigint[]) AS id) w,
LATERAL (SELECT id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at, provider, external_payment_id, card_token, failure, uuid, asked_at FROM payment x WHERE x.order_id = w.id ORDER BY x.created_at DESC, x.id DESC) p

-- name: RefundByID :many
SELECT r.id, r.payment_id, r.order_id, r.idempotency_key, r.amount, r.currency, r.status, r.reason, r.full_refund, r.external_refund_id, r.created_by, r.created_at, r.uuid, r.asked_at, o.customer_id, o.seller_id
FROM refund r JOIN orders o ON o.id = ANY(ARRAY[r.order_id])
WHERE r.id = $1

-- name: RefundOfExternal :many
SELECT id FROM refund WHERE external_refund_id = $1::text

-- name: RefundsOfOrder :many
SELECT id, payment_id, order_id, idempotency_key, amount, currency, status, reason, full_refund, external_refund_id, created_by, created_at, uuid, asked_at FROM refund WHERE order_id = $1 ORDER BY created_at DESC, id DESC

-- name: RefundsOfOrders :many
SELECT r.id, r.payment_id, r.order_id, r.idempotency_key, r.amount, r.currency, r.status, r.reason, r.full_refund, r.external_refund_id, r.created_by, r.created_at, r.uuid, r.asked_at FROM (SELECT unnest($1::bigint[]) AS id) w,
LATERAL (SELECT id, payment_id, order_id, idempotency_key, amount, currency, status, reason, full_refund, external_refund_id, created_by, created_at, uuid, asked_at FROM refund x WHERE x.order_id = w.id ORDER BY x.created_at DESC, x.id DESC) r

-- name: RefundsOfPayment :many
SELECT id, payment_id, order_id, idempotency_key, amount, currency, status, reason, full_refund, external_refund_id, created_by, created_at, uuid, asked_at FROM refund WHERE payment_id = $1 ORDER BY created_at DESC, id DESC

-- name: UndecidedPayments :many
SELECT created_at, id FROM payment
WHERE status = 'processing' AND created_at <= statement_timestamp() - interval '1 minute'
  AND (created_at, id) > ($1, $2::bigint)
ORDER BY created_at, id
LIMIT $3

-- name: UndecidedRefunds :many
SELECT created_at, id, payment_id FROM refund
WHERE status = 'pending' AND created_at <= statement_timestamp() - interval '1 minute'
  AND (created_at, id) > ($1, $2::bigint)
ORDER BY created_at, id
LIMIT $3

-- name: UpdatePayment :exec
UPDATE payment SET status = $1, external_payment_id = $2, failure = $3, asked_at = $4 WHERE id = $5

-- name: UpdateRefund :exec
UPDATE refund SET status = $1, external_refund_id = $2, asked_at = $3 WHERE id = $4

-- name: InsertProduct :exec
INSERT INTO product (sku, id, seller_id, name, price, currency, on_hand, reserved, version, created_at, updated_at)
OVERRIDING SYSTEM VALUE
VALUES ($1, $2, $3, $4, ($5::text)::numeric, $6, $7, 0, $8, $9, $10)

-- name: InsertStockAdjustment :exec
INSERT INTO stock_adjustment (id, sku, change, on_hand, reason, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)

-- name: ListProducts :many
SELECT sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at, version FROM product
WHERE (created_at, id) < (COALESCE($1::timestamptz, 'infinity'), $2::bigint)
ORDER BY created_at DESC, id DESC
LIMIT $3

-- name: LockProduct :many
SELECT sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at, version FROM product
WHERE sku = $1 AND ($2::bool OR seller_id = $3)
FOR UPDATE

-- name: LockProducts :many
SELECT sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at, version FROM product
WHERE sku = ANY($1::text[]) AND ($2::bool OR seller_id = $3)
ORDER BY sku
FOR UPDATE

-- name: LockStock :many
SELECT sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at, version FROM product
WHERE sku = ANY(ARRAY(
    SELECT unnest($1::text[])
    UNION ALL
    SELECT p.sku FROM (SELECT unnest($2::text[]) AS sku, unnest($3::text[]) AS seller) s,
    LATERAL (SELECT x.sku, x.seller_id FROM product x WHERE x.sku = s.sku OFFSET 0) p
    WHERE p.seller_id = s.seller
    UNION ALL
    SELECT i.sku
    FROM (SELECT unnest($4::bigint[]) AS id, unnest($5::bool[]) AS everybody,
                 unnest($6::text[]) AS as_customer, unnest($7::text[]) AS as_seller) a,
    LATERAL (SELECT x.id, x.customer_id, x.seller_id FROM orders x WHERE x.id = a.id OFFSET 0) o,
    LATERAL (SELECT x.sku FROM order_item x WHERE x.order_id = o.id OFFSET 0) i
    WHERE a.everybody OR o.customer_id = a.as_customer OR o.seller_id = a.as_seller
))
ORDER BY sku
FOR UPDATE

-- name: LockStockOfOrder :many
SELECT sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at, version FROM product
WHERE sku = ANY(ARRAY(
    SELECT i.sku FROM order_item i JOIN orders o ON o.id = i.order_id
    WHERE i.order_id = $1
      AND ($2::bool OR o.customer_id = $3 OR o.seller_id = $4)
))
ORDER BY sku
FOR UPDATE

-- name: ProductBySKU :many
SELECT sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at, version FROM product WHERE sku = $1

-- name: ProductExists :one
SELECT EXISTS (SELECT FROM product WHERE sku = $1)

-- name: ProductsBySKU :many
SELECT sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at, version FROM product WHERE sku = ANY($1::text[])

-- name: ProductsOfOthers :many
SELECT sku, id, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at, version FROM product
WHERE sku = ANY($1::text[]) AND seller_id IS DISTINCT FROM $2

-- name: StockAdjustmentByOperation :many
SELECT id, sku, change, on_hand, reason, created_by, idempotency_key, created_at FROM stock_adjustment
WHERE sku = $1 AND created_by = $2 AND idempotency_key = $3

-- name: UpdateProduct :exec
UPDATE product
SET name = $1, price = ($2::text)::numeric, currency = $3, on_hand = $4,
    version = $5, updated_at = $6
WHERE sku = $7

-- name: UpdateStock :exec
UPDATE product
SET on_hand = ($1::bigint[])[array_position($2::text[], sku)],
    reserved = ($3::bigint[])[array_position($2::text[], sku)],
    version = ($4::bigint[])[array_position($2::text[], sku)]
WHERE sku = ANY($2::text[])

-- name: UpdateStockOfMany :exec
UPDATE product p SET on_hand = w.on_hand, reserved = w.reserved, version = w.version
FROM (SELECT unnest($1::text[]) AS sku, unnest($2::bigint[]) AS on_hand, unnest($3::bigint[]) AS reserved,
             unnest($4::bigint[]) AS version) w
WHERE p.sku = ANY($1::text[]) AND p.sku = w.sku

-- name: DeleteProfile :exec
DELETE FROM customer_profile WHERE customer_id = $1

-- name: InsertProfile :exec
INSERT INTO customer_profile (customer_id, full_name, email, phone, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: LockProfile :many
SELECT customer_id, full_name, email, phone, updated_at, created_at FROM customer_profile WHERE customer_id = $1 FOR UPDATE

-- name: ProfileOf :many
SELECT customer_id, full_name, email, phone, updated_at, created_at FROM customer_profile WHERE customer_id = $1

-- name: UpdateProfile :exec
UPDATE customer_profile
SET full_name = $1, email = $2, phone = $3, updated_at = $4
WHERE customer_id = $5

-- name: BalancesAndNewEntries :many
SELECT c.customer_id::text AS customer_id, x.currency, x.balance::numeric AS balance, x.new_entries::numeric AS new_entries
FROM unnest($1::text[]) AS c (customer_id)
CROSS JOIN LATERAL (
    SELECT b.currency, b.amount AS balance, 0::numeric AS new_entries FROM balance b WHERE b.customer_id = c.customer_id
    UNION ALL
    SELECT e.currency, 0, sum(CASE WHEN e.credit = 'customer/' || e.customer_id THEN e.amount ELSE -e.amount END)
    FROM ledger_entry e
    WHERE e.balance_after IS NOT NULL AND e.customer_id = c.customer_id AND e.created_at >= $2
    GROUP BY e.currency
) x

-- name: CardPaymentsSince :many
SELECT id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at, provider, external_payment_id, card_token, failure, uuid, asked_at FROM payment
WHERE method = 'card' AND (created_at, id) > ($1::timestamptz, $2::bigint)
ORDER BY created_at, id LIMIT $3

-- name: CompareBalances :many
SELECT b.customer_id, b.currency, (CASE WHEN b.amount <> 0 AND e.id IS NULL
    THEN format('%s %s, and its entries make 0', b.amount, b.currency) ELSE '' END)::text AS detail
FROM (
    SELECT n.customer_id, n.currency, n.amount FROM balance n
    WHERE (n.customer_id, n.currency) > ($1::text, $2::text)
    ORDER BY n.customer_id, n.currency LIMIT $3
) b
LEFT JOIN LATERAL (SELECT id FROM ledger_entry WHERE balance_after IS NOT NULL AND customer_id = b.customer_id LIMIT 1) e ON true
ORDER BY b.customer_id, b.currency

-- name: CompareOrders :many

SELECT o.id, (CASE
    WHEN o.status IN ('paid', 'fulfilling', 'shipped', 'delivered') AND p.id IS NULL THEN o.status || ' without a captured payment'
    WHEN o.status = 'cancelled' AND r.amount < p.amount THEN format('cancelled, and %s of %s given back', r.amount, p.amount)
    ELSE '' END)::text AS detail
FROM (SELECT n.id, n.status FROM orders n WHERE n.id > $1 ORDER BY n.id LIMIT $2) o
LEFT JOIN LATERAL (SELECT id, amount FROM payment WHERE order_id = o.id AND status = 'captured' LIMIT 1) p ON true
LEFT JOIN LATERAL (SELECT coalesce(sum(amount), 0) AS amount FROM refund WHERE payment_id = p.id AND status <> 'failed') r ON true
ORDER BY o.id

-- name: ComparePayments :many
SELECT p.id, array_remove(ARRAY[
    CASE WHEN r.amount > p.amount THEN format('%s captured, and %s refunded', p.amount, r.amount) END,
    CASE WHEN p.status = 'captured' AND e.entries <> 1 THEN format('captured, and %s entries', e.entries) END
    ], NULL)::text[] AS details
FROM (SELECT n.id, n.amount, n.status FROM payment n WHERE n.id > $1 ORDER BY n.id LIMIT $2) p
CROSS JOIN LATERAL (SELECT coalesce(sum(amount), 0) AS amount FROM refund WHERE payment_id = p.id AND status <> 'failed') r
CROSS JOIN LATERAL (SELECT count(*) AS entries FROM ledger_entry WHERE payment_id = p.id AND kind = 'payment') e
ORDER BY p.id

-- name: CompareProducts :many
WITH page AS MATERIALIZED (SELECT n.sku, n.reserved FROM product n WHERE n.sku > $1::text ORDER BY n.sku LIMIT $2),
reserving AS (
    SELECT n.id FROM orders n WHERE n.status = 'pending_payment' AND n.reserved_until IS NOT NULL
    UNION ALL
    SELECT n.id FROM orders n WHERE n.id > 0 AND n.status = 'payment_processing' AND n.reserved_until IS NOT NULL
),
reserved AS (
    SELECT i.sku, i.quantity FROM reserving o
    CROSS JOIN LATERAL (SELECT n.sku, n.quantity FROM order_item n WHERE n.order_id = o.id OFFSET 0) i
)
SELECT c.sku, (CASE WHEN sum(c.reserved) <> sum(c.quantity)
    THEN format('%s reserved, and its reservations make %s', sum(c.reserved), sum(c.quantity)) ELSE '' END)::text AS detail
FROM (
    SELECT p.sku, p.reserved, 0 AS quantity, true AS listed FROM page p
    UNION ALL
    SELECT r.sku, 0, r.quantity, false FROM reserved r
    WHERE r.sku > $1::text AND r.sku <= (SELECT max(p.sku) FROM page p)
) c
GROUP BY c.sku HAVING bool_or(c.listed)
ORDER BY c.sku

-- name: EntriesOfNextCustomers :many
SELECT coalesce(e.customer_id, '')::text AS customer_id, e.currency, e.created_at, e.id,
       (CASE WHEN e.credit = 'customer/' || e.customer_id THEN e.amount ELSE -e.amount END)::numeric AS change
FROM ledger_entry e
WHERE e.balance_after IS NOT NULL AND e.customer_id > $1
ORDER BY e.customer_id, e.created_at DESC, e.id DESC LIMIT $2

-- name: OtherEntriesOfCustomer :many
SELECT coalesce(e.customer_id, '')::text AS customer_id, e.currency, e.created_at, e.id,
       (CASE WHEN e.credit = 'customer/' || e.customer_id THEN e.amount ELSE -e.amount END)::numeric AS change
FROM ledger_entry e
WHERE e.balance_after IS NOT NULL AND e.customer_id = $1 AND (e.created_at, e.id) < ($2::timestamptz, $3::bigint)
ORDER BY e.created_at DESC, e.id DESC LIMIT $4

-- name: PaymentsByID :many
SELECT id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at, provider, external_payment_id, card_token, failure, uuid, asked_at FROM payment WHERE id = ANY($1::bigint[])

-- name: PaymentsByUUID :many
SELECT id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at, provider, external_payment_id, card_token, failure, uuid, asked_at FROM payment WHERE uuid = ANY(($1::text[])::uuid[])

-- name: ReconciliationPass :many
SELECT version, position, found, coalesce(extract(epoch FROM statement_timestamp() - finished_at), -1)::float8 AS age
FROM reconciliation WHERE singleton

-- name: ReconciliationResult :many
SELECT greatest(mismatches, found)::bigint AS mismatches,
       coalesce(extract(epoch FROM statement_timestamp() - finished_at), -1)::float8 AS age
FROM reconciliation WHERE singleton

-- name: RefundsOfPayments :many
SELECT id, payment_id, order_id, idempotency_key, amount, currency, status, reason, full_refund, external_refund_id, created_by, created_at, uuid, asked_at FROM refund WHERE payment_id = ANY($1::bigint[]) ORDER BY payment_id, id

-- name: SaveReconciliationPass :execrows
UPDATE reconciliation SET version = version + 1,
    position = $1, found = CASE WHEN $1 = '' THEN 0 ELSE $2::bigint END,
    mismatches = CASE WHEN $1 = '' THEN $2::bigint ELSE mismatches END,
    finished_at = CASE WHEN $1 = '' THEN statement_timestamp() ELSE finished_at END
WHERE singleton AND version = $3

-- name: DrawLedgerEntryID :one
SELECT nextval('ledger_entry_id_seq')

-- name: DrawOrderID :one
SELECT nextval('orders_id_seq')

-- name: DrawPaymentID :one
SELECT nextval('payment_id_seq')

-- name: DrawProductID :one
SELECT nextval('product_id_seq')

-- name: DrawRefundID :one
SELECT nextval('refund_id_seq')

-- name: DrawStockAdjustmentID :one
SELECT nextval('stock_adjustment_id_seq')

-- name: Now :one
SELECT now()::timestamptz AS now

-- name: db.go
SELECT version, dirty, current_setting('transaction_read_only')::boolean
		FROM schema_migrations

-- name: intents.go
INSERT INTO river.river_job (kind, args, max_attempts, priority, queue, state, unique_key, unique_states)
SELECT $1::text, jsonb_build_object('id', id), 32000, 1, 'payments', 'available', convert_to($1::text || '/' || id, 'UTF8'), B'11110001'
FROM unnest($2::bigint[]) id
ON CONFLICT (unique_key)
    WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL AND river.river_job_state_in_bitmask(unique_states, state)
    DO NOTHING
RETURNING (args->>'id')::bigint
