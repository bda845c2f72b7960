-- name: PlanForWholeTables :exec
-- Until the end of the transaction. The statements below read whole tables: their best
-- plan depends on how much there is now, sequential scans are part of it, and a nested
-- loop over tables without statistics takes minutes.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'on', true),
       set_config('enable_nestloop', 'off', true);

-- name: LedgerMismatches :many
-- What should be equal and is not. One statement, so one moment in time.
SELECT ('balance/' || coalesce(b.customer_id, m.customer_id))::text AS resource,
       format('%s %s, and its entries make %s', coalesce(b.amount, 0), coalesce(b.currency, m.currency), coalesce(m.amount, 0))::text AS detail
FROM balance b
FULL JOIN (
    SELECT customer_id, currency, sum(CASE WHEN credit = 'customer/' || customer_id THEN amount ELSE -amount END) AS amount
    FROM ledger_entry WHERE customer_id IS NOT NULL GROUP BY customer_id, currency
) m ON m.customer_id = b.customer_id AND m.currency = b.currency
WHERE coalesce(b.amount, 0) <> coalesce(m.amount, 0)
UNION ALL
SELECT 'payment/' || p.id, format('%s captured, and %s refunded', p.amount, sum(r.amount))
FROM payment p JOIN refund r ON r.payment_id = p.id AND r.status <> 'failed'
GROUP BY p.id HAVING sum(r.amount) > p.amount
UNION ALL
SELECT 'product/' || p.sku, format('%s reserved, and holds keep %s', p.reserved, coalesce(h.quantity, 0))
FROM product p
LEFT JOIN (
    SELECT i.sku, sum(i.quantity) AS quantity
    FROM orders o JOIN order_item i ON i.order_id = o.id
    WHERE o.reserved_until IS NOT NULL GROUP BY i.sku
) h ON h.sku = p.sku
WHERE p.reserved <> coalesce(h.quantity, 0)
UNION ALL
SELECT 'order/' || o.id, o.status || ' without a captured payment'
FROM orders o
WHERE o.status IN ('paid', 'fulfilling', 'shipped', 'delivered')
  AND NOT EXISTS (SELECT FROM payment p WHERE p.order_id = o.id AND p.status = 'captured')
UNION ALL
SELECT 'order/' || o.id, format('cancelled, and %s of %s given back', coalesce(sum(r.amount), 0), p.amount)
FROM orders o JOIN payment p ON p.order_id = o.id AND p.status = 'captured'
LEFT JOIN refund r ON r.payment_id = p.id AND r.status <> 'failed'
WHERE o.status = 'cancelled'
GROUP BY o.id, p.id HAVING coalesce(sum(r.amount), 0) < p.amount
UNION ALL
SELECT 'payment/' || p.id, format('captured, and %s entries', count(m.id))
FROM payment p LEFT JOIN ledger_entry m ON m.payment_id = p.id AND m.kind = 'payment'
WHERE p.status = 'captured'
GROUP BY p.id HAVING count(m.id) <> 1;

-- name: CardPaymentsToCompare :many
SELECT * FROM payment p
WHERE p.method = 'card' AND (
    p.created_at >= @since OR p.uuid = ANY((@uuids::text[])::uuid[]) OR p.status = 'processing'
    OR EXISTS (SELECT FROM refund r WHERE r.payment_id = p.id AND r.status = 'pending'))
ORDER BY p.id;

-- name: RefundsOfPayments :many
SELECT * FROM refund WHERE payment_id = ANY(@payment_ids::bigint[]) ORDER BY payment_id, id;
