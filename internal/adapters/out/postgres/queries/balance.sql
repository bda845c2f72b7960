-- name: LockBalance :many
SELECT * FROM balance WHERE customer_id = @customer_id AND currency = @currency FOR UPDATE;

-- name: LockBalanceOfOrder :many
-- Locks the balance only for those who may lock the order.
SELECT * FROM balance
WHERE (customer_id, currency) = (
    SELECT o.customer_id, o.currency FROM orders o
    WHERE o.id = @order_id
      AND (@everybody::bool OR o.customer_id = sqlc.narg(as_customer) OR o.seller_id = sqlc.narg(as_seller))
)
FOR UPDATE;

-- name: BalancesOf :many
SELECT * FROM balance WHERE customer_id = @customer_id ORDER BY currency;

-- name: InsertBalance :exec
INSERT INTO balance (customer_id, currency, amount, position, changed_at)
VALUES (@customer_id, @currency, (@amount::text)::numeric, @position, @changed_at);

-- name: UpdateBalance :exec
UPDATE balance SET amount = (@amount::text)::numeric, position = @position, changed_at = @changed_at
WHERE customer_id = @customer_id AND currency = @currency;

-- name: LedgerEntryByOperation :many
SELECT * FROM ledger_entry
WHERE customer_id = @customer_id AND created_by = @created_by AND idempotency_key = @idempotency_key;

-- name: LedgerEntryByReference :many
SELECT id FROM ledger_entry
WHERE customer_id = @customer_id AND kind = @kind AND reference = @reference AND reference <> '';

-- name: InsertLedgerEntry :exec
INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, payment_id, refund_id,
                      description, reference, created_by, idempotency_key, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @kind, @debit, @credit, (@amount::text)::numeric, @currency, @customer_id, (sqlc.narg(balance_after)::text)::numeric, @position, @payment_id, @refund_id,
        @description, @reference, @created_by, @idempotency_key, @created_at);

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
