-- name: PaymentByID :many
-- ANY(ARRAY[…]) leaves PostgreSQL only one way to join: it looks the order up.
SELECT sqlc.embed(p), o.customer_id, o.seller_id
FROM payment p JOIN orders o ON o.id = ANY(ARRAY[p.order_id])
WHERE p.id = @id;

-- name: SearchPayments :many
-- Reads a page of each wanted status and method from the index for it. The condition
-- without a parameter is that index's (see migration 22).
SELECT * FROM payment WHERE id = ANY(ARRAY(
    SELECT p.id FROM unnest(@statuses::text[]) s (status), unnest(@methods::text[]) m (method), LATERAL (
        SELECT n.id, n.created_at FROM payment n
        WHERE n.status = s.status AND n.method = m.method AND n.id > 0
          AND (n.created_at, n.id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
          AND n.created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
        ORDER BY n.created_at DESC, n.id DESC
        LIMIT @rows
    ) p
    ORDER BY p.created_at DESC, p.id DESC
    LIMIT @rows
))
ORDER BY created_at DESC, id DESC;

-- name: RefundByID :many
SELECT sqlc.embed(r), o.customer_id, o.seller_id
FROM refund r JOIN orders o ON o.id = ANY(ARRAY[r.order_id])
WHERE r.id = @id;

-- name: RefundsOfPayment :many
SELECT * FROM refund WHERE payment_id = @payment_id ORDER BY created_at DESC, id DESC;

-- name: UpdatePayment :exec
UPDATE payment SET status = @status, external_payment_id = @external_payment_id, failure = @failure, asked_at = @asked_at WHERE id = @id;

-- name: UpdateRefund :exec
UPDATE refund SET status = @status, external_refund_id = @external_refund_id, failure = @failure, asked_at = @asked_at WHERE id = @id;

-- name: OrderOfPayment :many
SELECT order_id FROM payment WHERE id = @id;

-- name: OrderOfRefund :many
SELECT order_id FROM refund WHERE id = @id;

-- name: PaymentOfCharge :many
SELECT id FROM payment WHERE provider = 'stripe' AND external_payment_id = @external_payment_id::text;

-- name: RefundOfExternal :many
SELECT id FROM refund WHERE external_refund_id = @external_refund_id::text;

-- name: OrderOfPaymentUUID :many
SELECT order_id FROM payment WHERE uuid = @uuid;

-- name: OrderOfRefundUUID :many
SELECT order_id FROM refund WHERE uuid = @uuid;

-- name: InsertRefund :exec
INSERT INTO refund (id, payment_id, order_id, idempotency_key, amount, currency, status, reason, reference, full_refund,
                    external_refund_id, made_at_provider, created_by, created_at)
OVERRIDING SYSTEM VALUE
VALUES (@id, @payment_id, @order_id, @idempotency_key, (@amount::text)::numeric, @currency, @status, @reason, @reference, @full_refund,
        @external_refund_id, @made_at_provider, @created_by, @created_at);

-- name: UndecidedPayments :many
-- The oldest first, and not those of the last minute: their jobs are at work.
SELECT created_at, id FROM payment
WHERE status = 'processing' AND created_at <= statement_timestamp() - interval '1 minute'
  AND (created_at, id) > (@after_time, @after_id::bigint)
ORDER BY created_at, id
LIMIT @max_payments;

-- name: UndecidedRefunds :many
SELECT created_at, id, payment_id FROM refund
WHERE status = 'pending' AND created_at <= statement_timestamp() - interval '1 minute'
  AND (created_at, id) > (@after_time, @after_id::bigint)
ORDER BY created_at, id
LIMIT @max_refunds;

-- name: PaymentsOfOrders :many
-- Each payment of an order is younger than the one before it. Ids come in blocks.
SELECT p.* FROM (SELECT unnest(@order_ids::bigint[]) AS id) w,
LATERAL (SELECT * FROM payment x WHERE x.order_id = w.id ORDER BY x.created_at DESC, x.id DESC) p;

-- name: RefundsOfOrders :many
SELECT r.* FROM (SELECT unnest(@order_ids::bigint[]) AS id) w,
LATERAL (SELECT * FROM refund x WHERE x.order_id = w.id ORDER BY x.created_at DESC, x.id DESC) r;

-- name: InsertPayments :exec
-- An empty text stands for NULL.
INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, provider, card_token, created_by, created_at)
OVERRIDING SYSTEM VALUE
SELECT unnest(@ids::bigint[]), unnest(@order_ids::bigint[]), unnest(@idempotency_keys::text[]), unnest(@amounts::text[])::numeric,
       unnest(@currencies::text[]), unnest(@methods::text[]), unnest(@statuses::text[]),
       NULLIF(unnest(@providers::text[]), ''), NULLIF(unnest(@card_tokens::text[]), ''),
       unnest(@created_by::text[]), unnest(@created_at::timestamptz[]);

-- name: DisputesOfOrders :many
SELECT d.* FROM (SELECT unnest(@order_ids::bigint[]) AS id) w,
LATERAL (SELECT * FROM dispute x WHERE x.order_id = w.id ORDER BY x.created_at DESC, x.external_id DESC) d;

-- name: DisputesOfPayments :many
SELECT * FROM dispute WHERE payment_id = ANY(@payment_ids::bigint[]) ORDER BY payment_id, created_at DESC, external_id DESC;

-- name: SearchDisputedPayments :many
-- Reads all open disputes: few payments are disputed, and for some weeks.
SELECT * FROM payment
WHERE id = ANY(ARRAY(SELECT d.payment_id FROM dispute d WHERE d.status IN ('warning_needs_response', 'warning_under_review', 'needs_response', 'under_review')))
  AND status = ANY(@statuses::text[]) AND method = ANY(@methods::text[])
  AND (created_at, id) < (COALESCE(sqlc.narg(before_time)::timestamptz, 'infinity'), @before_id::bigint)
  AND created_at >= COALESCE(sqlc.narg(created_from)::timestamptz, '-infinity')
ORDER BY created_at DESC, id DESC
LIMIT @rows;

-- name: OrderDisputed :many
-- A lost dispute counts as well: the bank has taken the money back.
SELECT EXISTS (
    SELECT FROM dispute
    WHERE order_id = @order_id AND status IN ('warning_needs_response', 'warning_under_review', 'needs_response', 'under_review', 'lost')
)::bool AS disputed;

-- name: SaveDispute :exec
INSERT INTO dispute (external_id, payment_id, order_id, amount, currency, reason, status, due_by, created_at)
VALUES (@external_id, @payment_id, @order_id, (@amount::text)::numeric, @currency, @reason, @status, @due_by, @created_at)
ON CONFLICT (external_id) DO UPDATE
SET amount = EXCLUDED.amount, currency = EXCLUDED.currency, reason = EXCLUDED.reason, status = EXCLUDED.status, due_by = EXCLUDED.due_by;
