-- name: BalancesOf :many
SELECT * FROM balance WHERE customer_id = @customer_id ORDER BY currency;

-- name: ListLedgerEntriesByReference :many
-- A customer has one entry of each kind with a reference. Each is looked up by itself.
SELECT * FROM ledger_entry
WHERE id = ANY(ARRAY(
    SELECT found.id FROM unnest(ARRAY['credit', 'charge', 'payment', 'refund']) wanted (kind), LATERAL (
        SELECT e.id FROM ledger_entry e
        WHERE e.customer_id = @customer_id AND e.kind = wanted.kind AND e.reference = @reference AND e.reference <> ''
        LIMIT 1
    ) found
))
  AND (created_at, id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
  AND created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
ORDER BY created_at DESC, id DESC
LIMIT @rows;

-- name: ListLedgerEntries :many
SELECT * FROM ledger_entry
WHERE customer_id = @customer_id AND balance_after IS NOT NULL
  AND (created_at, id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
  AND created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
ORDER BY created_at DESC, id DESC
LIMIT @rows;

-- name: LockBalances :many
-- Locks balances in their order: those that are named, and those of the
-- customers of the orders that somebody may lock. A row is locked when the join reaches it,
-- so the sequence of the outer side is the sequence of the locks.
SELECT b.customer_id, b.currency, b.amount, b.position, b.changed_at
FROM (
    SELECT n.customer_id, n.currency FROM (SELECT unnest(@customer_ids::text[]) AS customer_id, unnest(@currencies::text[]) AS currency) n
    UNION
    SELECT o.customer_id, o.currency
    FROM (SELECT unnest(@order_ids::bigint[]) AS id, unnest(@everybody::bool[]) AS everybody,
                 unnest(@as_customers::text[]) AS as_customer, unnest(@as_sellers::text[]) AS as_seller) a,
    LATERAL (SELECT x.customer_id, x.seller_id, x.currency FROM orders x WHERE x.id = a.id OFFSET 0) o
    WHERE a.everybody OR o.customer_id = a.as_customer OR o.seller_id = a.as_seller
    ORDER BY customer_id, currency
) w,
LATERAL (SELECT * FROM balance x WHERE x.customer_id = w.customer_id AND x.currency = w.currency FOR UPDATE) b;

-- name: InsertBalances :exec
INSERT INTO balance (customer_id, currency, amount, position, changed_at)
SELECT unnest(@customer_ids::text[]), unnest(@currencies::text[]), unnest(@amounts::text[])::numeric,
       unnest(@positions::bigint[]), unnest(@changed_at::timestamptz[]);

-- name: UpdateBalances :exec
-- The first condition lets the rows be found by index, whatever the join is planned to be.
-- A balance that is not at the position that was read gets the position -1, which the table
-- refuses.
UPDATE balance b SET amount = w.amount::numeric, changed_at = w.changed_at,
    position = CASE WHEN b.position = w.read_position THEN w.position ELSE -1 END
FROM (SELECT unnest(@customer_ids::text[]) AS customer_id, unnest(@currencies::text[]) AS currency, unnest(@amounts::text[]) AS amount,
             unnest(@positions::bigint[]) AS position, unnest(@changed_at::timestamptz[]) AS changed_at,
             unnest(@read_positions::bigint[]) AS read_position) w
WHERE b.customer_id = ANY(@customer_ids::text[]) AND b.customer_id = w.customer_id AND b.currency = w.currency;

-- name: LedgerEntriesByOperation :many
SELECT e.*
FROM (SELECT unnest(@customer_ids::text[]) AS customer_id, unnest(@created_by::text[]) AS created_by, unnest(@idempotency_keys::text[]) AS key) w,
LATERAL (
    SELECT * FROM ledger_entry x
    WHERE x.customer_id = w.customer_id AND x.created_by = w.created_by AND x.idempotency_key = w.key
    OFFSET 0
) e;

-- name: LedgerEntriesByReference :many
SELECT w.customer_id::text AS customer_id, w.kind::text AS kind, w.reference::text AS reference
FROM (SELECT unnest(@customer_ids::text[]) AS customer_id, unnest(@kinds::text[]) AS kind, unnest(@refs::text[]) AS reference) w,
LATERAL (
    SELECT x.id FROM ledger_entry x
    WHERE x.customer_id = w.customer_id AND x.kind = w.kind AND x.reference = w.reference AND x.reference <> ''
    OFFSET 0
) e;

-- name: InsertLedgerEntries :exec
-- The zero of an id and an empty text stand for NULL.
INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, payment_id, refund_id,
                      description, reference, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
SELECT w.id, w.kind, w.debit, w.credit, w.amount::numeric, w.currency, NULLIF(w.customer_id, ''), NULLIF(w.balance_after, '')::numeric, w.position,
       NULLIF(w.payment_id, 0), NULLIF(w.refund_id, 0), w.description, w.reference,
       NULLIF(w.created_by, ''), NULLIF(w.key, ''), w.created_at
FROM (SELECT unnest(@ids::bigint[]) AS id, unnest(@kinds::text[]) AS kind, unnest(@debits::text[]) AS debit, unnest(@credits::text[]) AS credit,
             unnest(@amounts::text[]) AS amount, unnest(@currencies::text[]) AS currency, unnest(@customer_ids::text[]) AS customer_id,
             unnest(@balances_after::text[]) AS balance_after, unnest(@positions::bigint[]) AS position,
             unnest(@payment_ids::bigint[]) AS payment_id, unnest(@refund_ids::bigint[]) AS refund_id,
             unnest(@descriptions::text[]) AS description, unnest(@refs::text[]) AS reference,
             unnest(@created_by::text[]) AS created_by, unnest(@idempotency_keys::text[]) AS key,
             unnest(@created_at::timestamptz[]) AS created_at) w;

-- name: InsertLedgerEntry :exec
INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, payment_id, refund_id,
                      description, reference, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @kind, @debit, @credit, (@amount::text)::numeric, @currency, @customer_id, (sqlc.narg(balance_after)::text)::numeric, @position, @payment_id, @refund_id,
        @description, @reference, @created_by, @idempotency_key, @created_at);

-- name: LockBalance :many
SELECT * FROM balance WHERE customer_id = @customer_id AND currency = @currency FOR UPDATE;

-- name: LockBalanceOfOrder :many
-- Locks the balance only for those who may lock the order.
SELECT * FROM balance
WHERE (customer_id, currency) = (
    SELECT o.customer_id, o.currency FROM orders o
    WHERE o.id = @id AND (@everybody::bool OR o.customer_id = @as_customer::text OR o.seller_id = @as_seller::text)
)
FOR UPDATE;

-- name: UpdateBalance :exec
-- Like UpdateBalances, for one.
UPDATE balance SET amount = (@amount::text)::numeric, changed_at = @changed_at,
    position = CASE WHEN position = @read_position::bigint THEN @position::bigint ELSE -1 END
WHERE customer_id = @customer_id AND currency = @currency;

-- name: EntryOfTransaction :many
-- The second condition is that of the index.
SELECT id FROM ledger_entry WHERE reference = @reference AND kind = @kind AND kind IN ('dispute', 'dispute_fee');
