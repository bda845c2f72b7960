-- Reconciliation compares the rows of each table in the order of its key, a page at a time,
-- with what belongs to them. Every statement sees one moment in time. The look-ups are
-- LATERAL with LIMIT or an aggregate, so that no plan joins whole tables. An amount may be NaN
-- in a row that is older than the constraint. NaN equals itself, and is no decimal here.

-- name: CompareOrders :many
SELECT o.id, (CASE
    WHEN o.total = 'NaN' THEN 'its total is NaN'
    WHEN EXISTS (SELECT FROM order_item WHERE order_id = o.id AND unit_price = 'NaN' OFFSET 0) THEN 'the price of an item is NaN'
    WHEN o.status IN ('paid', 'fulfilling', 'shipped', 'delivered') AND p.id IS NULL THEN o.status || ' without a captured payment'
    WHEN o.status IN ('pending_payment', 'payment_processing') AND p.id IS NOT NULL THEN o.status || ' with a captured payment'
    WHEN p.amount <> o.total THEN format('%s of %s captured', p.amount, o.total)
    WHEN o.status = 'cancelled' AND r.amount + d.lost < p.amount THEN format('cancelled, and %s of %s given back', r.amount + d.lost, p.amount)
    ELSE '' END)::text AS detail
FROM (SELECT n.id, n.status, n.total FROM orders n WHERE n.id > @after_id ORDER BY n.id LIMIT @page) o
LEFT JOIN LATERAL (SELECT id, amount FROM payment WHERE order_id = o.id AND status = 'captured' LIMIT 1) p ON true
LEFT JOIN LATERAL (SELECT coalesce(sum(amount), 0) AS amount FROM refund WHERE payment_id = p.id AND status <> 'failed') r ON true
LEFT JOIN LATERAL (SELECT coalesce(sum(amount), 0) AS lost FROM dispute WHERE payment_id = p.id AND status = 'lost') d ON true
ORDER BY o.id;

-- name: ComparePayments :many
-- An entry that moves a rejected refund back counts against the first one.
SELECT p.id, array_remove(ARRAY[
    CASE WHEN p.amount = 'NaN' THEN 'its amount is NaN' END,
    'the amount is NaN of refund ' || r.unreadable,
    CASE WHEN r.promised > p.amount AND NOT r.waiting THEN format('%s captured, and %s refunded', p.amount, r.promised) END,
    CASE WHEN p.status = 'captured' AND e.amount <> p.amount THEN format('%s captured, and its entries make %s', p.amount, e.amount) END,
    CASE WHEN r.refunded <> r.entries THEN format('%s refunded, and its entries make %s', r.refunded, r.entries) END
    ], NULL)::text[] AS details
FROM (SELECT n.id, n.amount, n.status FROM payment n WHERE n.id > @after_id ORDER BY n.id LIMIT @page) p
CROSS JOIN LATERAL (SELECT coalesce(sum(amount), 0) AS amount FROM ledger_entry WHERE payment_id = p.id AND kind = 'payment') e
CROSS JOIN LATERAL (
    SELECT coalesce(sum(n.amount) FILTER (WHERE n.status <> 'failed'), 0) AS promised,
           coalesce(sum(n.amount) FILTER (WHERE n.status = 'succeeded'), 0) AS refunded, coalesce(sum(m.amount), 0) AS entries,
           -- Until the provider decides, refunds of ours may have lost the money to one in its dashboard.
           coalesce(bool_or(n.made_at_provider) AND bool_or(n.status = 'pending'), false) AS waiting,
           string_agg(n.id::text, ', ' ORDER BY n.id) FILTER (WHERE n.amount = 'NaN') AS unreadable
    FROM refund n CROSS JOIN LATERAL (
        SELECT sum(CASE WHEN debit = 'provider' THEN -amount ELSE amount END) AS amount FROM ledger_entry WHERE refund_id = n.id
    ) m WHERE n.payment_id = p.id
) r
ORDER BY p.id;

-- name: CompareProducts :many
-- Reads all reservations beside its page, because the stock of a product changes with them.
-- There are as many as orders are made in the lifetime of a reservation.
WITH page AS MATERIALIZED (SELECT n.sku, n.reserved, n.price FROM product n WHERE n.sku > @after_sku::text ORDER BY n.sku LIMIT @page),
reserving AS (
    SELECT n.id FROM orders n WHERE n.status = 'pending_payment' AND n.reserved_until IS NOT NULL
    UNION ALL
    SELECT n.id FROM orders n WHERE n.id > 0 AND n.status = 'payment_processing' AND n.reserved_until IS NOT NULL
),
reserved AS (
    SELECT i.sku, i.quantity FROM reserving o
    CROSS JOIN LATERAL (SELECT n.sku, n.quantity FROM order_item n WHERE n.order_id = o.id OFFSET 0) i
)
SELECT c.sku, (CASE WHEN bool_or(c.price = 'NaN') THEN 'its price is NaN' WHEN sum(c.reserved) <> sum(c.quantity)
    THEN format('%s reserved, and its reservations make %s', sum(c.reserved), sum(c.quantity)) ELSE '' END)::text AS detail
FROM (
    SELECT p.sku, p.reserved, 0 AS quantity, p.price, true AS listed FROM page p
    UNION ALL
    SELECT r.sku, 0, r.quantity, NULL, false FROM reserved r
    WHERE r.sku > @after_sku::text AND r.sku <= (SELECT max(p.sku) FROM page p)
) c
GROUP BY c.sku HAVING bool_or(c.listed)
ORDER BY c.sku;

-- name: OtherEntriesOfCustomer :many
-- The entries of a customer that are older than one, newest first.
SELECT coalesce(e.customer_id, '')::text AS customer_id, e.currency, e.created_at, e.id, e.position,
       (CASE WHEN e.amount = 'NaN' THEN 0 WHEN e.credit = 'customer/' || e.customer_id THEN e.amount ELSE -e.amount END)::numeric AS change,
       'NaN' IN (e.amount, e.balance_after) AS unreadable
FROM ledger_entry e
WHERE e.balance_after IS NOT NULL AND e.customer_id = @customer_id AND (e.created_at, e.id) < (@before_time::timestamptz, @before_id::bigint)
ORDER BY e.created_at DESC, e.id DESC LIMIT @page;

-- name: EntriesOfNextCustomers :many
SELECT coalesce(e.customer_id, '')::text AS customer_id, e.currency, e.created_at, e.id, e.position,
       (CASE WHEN e.amount = 'NaN' THEN 0 WHEN e.credit = 'customer/' || e.customer_id THEN e.amount ELSE -e.amount END)::numeric AS change,
       'NaN' IN (e.amount, e.balance_after) AS unreadable
FROM ledger_entry e
WHERE e.balance_after IS NOT NULL AND e.customer_id > @after_customer
ORDER BY e.customer_id, e.created_at DESC, e.id DESC LIMIT @page;

-- name: BalancesAndNewEntries :many
-- The balances of customers, and what the entries behind the positions that were read make.
SELECT b.customer_id, b.currency, (CASE WHEN b.amount = 'NaN' THEN 0 ELSE b.amount END)::numeric AS balance, b.amount = 'NaN' AS unreadable, e.amount AS new_entries
FROM unnest(@customer_ids::text[]) AS c (customer_id)
CROSS JOIN LATERAL (SELECT n.customer_id, n.currency, n.amount FROM balance n WHERE n.customer_id = c.customer_id OFFSET 0) b
LEFT JOIN (
    SELECT unnest(@read_customers::text[]) AS customer_id, unnest(@read_currencies::text[]) AS currency, unnest(@positions::bigint[]) AS position
) w ON w.customer_id = b.customer_id AND w.currency = b.currency
CROSS JOIN LATERAL (
    SELECT coalesce(sum(CASE WHEN n.credit = 'customer/' || n.customer_id THEN n.amount ELSE -n.amount END) FILTER (WHERE n.amount <> 'NaN'), 0)::numeric AS amount
    FROM ledger_entry n
    WHERE n.customer_id = b.customer_id AND n.currency = b.currency AND n.position > 0 AND n.position > coalesce(w.position, 0)
) e;

-- name: CompareBalances :many
-- Finds the balances of customers without entries; the others are compared with their entries.
SELECT b.customer_id, b.currency, (CASE WHEN b.amount <> 0 AND e.id IS NULL
    THEN format('%s %s, and its entries make 0', b.amount, b.currency) ELSE '' END)::text AS detail
FROM (
    SELECT n.customer_id, n.currency, n.amount FROM balance n
    WHERE (n.customer_id, n.currency) > (@after_customer::text, @after_currency::text)
    ORDER BY n.customer_id, n.currency LIMIT @page
) b
LEFT JOIN LATERAL (SELECT id FROM ledger_entry WHERE balance_after IS NOT NULL AND customer_id = b.customer_id LIMIT 1) e ON true
ORDER BY b.customer_id, b.currency;

-- name: CardPaymentsSince :many
SELECT created_at, id FROM payment
WHERE method = 'card' AND (created_at, id) > (@after_time::timestamptz, @after_id::bigint)
ORDER BY created_at, id LIMIT @page;

-- name: CardPaymentsCounted :one
-- Counts a page, and returns where it ends.
SELECT count(*) AS counted, coalesce(max(p.created_at), 'epoch')::timestamptz AS last_time,
       coalesce((array_agg(p.id ORDER BY p.created_at DESC, p.id DESC))[1], 0)::bigint AS last_id
FROM (
    SELECT created_at, id FROM payment
    WHERE method = 'card' AND (created_at, id) > (@after_time::timestamptz, @after_id::bigint)
    ORDER BY created_at, id LIMIT @page
) p;

-- name: RefundedSince :many
-- The refunds since a time, the oldest first.
SELECT created_at, id, payment_id FROM refund
WHERE id > 0 AND (created_at, id) > (@after_time::timestamptz, @after_id::bigint)
ORDER BY created_at, id LIMIT @page;

-- name: DisputedCharges :many
SELECT coalesce(external_payment_id, '')::text AS charge FROM payment
WHERE id = ANY(ARRAY(SELECT payment_id FROM dispute
                     WHERE status IN ('warning_needs_response', 'warning_under_review', 'needs_response', 'under_review')));

-- name: NextDispute :many
-- The time until the next answer to a dispute is due.
SELECT extract(epoch FROM min(due_by) - statement_timestamp())::float8 AS left
FROM dispute WHERE status IN ('warning_needs_response', 'needs_response') HAVING min(due_by) IS NOT NULL;

-- name: PaymentsOfUUIDs :many
SELECT id FROM payment WHERE uuid = ANY((@uuids::text[])::uuid[]);

-- name: CardPaymentsAmong :many
-- An unreadable payment is NaN, or has a refund that is. OFFSET 0 makes the planner begin with
-- the ids. It preferred the index of card payments, and read all of it.
SELECT p.id, p.uuid,
       (p.amount = 'NaN' OR EXISTS (SELECT FROM refund WHERE payment_id = p.id AND amount = 'NaN' OFFSET 0))::bool AS unreadable
FROM (SELECT n.id, n.uuid, n.method, n.amount FROM payment n WHERE n.id = ANY(@ids::bigint[]) OFFSET 0) p
WHERE p.method = 'card' ORDER BY p.id;

-- name: PaymentsOfIDs :many
SELECT * FROM payment WHERE id = ANY(@ids::bigint[]) ORDER BY id;

-- name: RefundsOfPayments :many
SELECT * FROM refund WHERE payment_id = ANY(@payment_ids::bigint[]) ORDER BY payment_id, created_at DESC, id DESC;

-- name: ReconciliationPass :many
SELECT version, position, found, coalesce(extract(epoch FROM statement_timestamp() - finished_at), -1)::float8 AS age
FROM reconciliation WHERE singleton;

-- name: SaveReconciliationPass :execrows
-- Saves a step unless another replica has saved it. The last step ends the pass.
UPDATE reconciliation SET version = version + 1,
    position = @next_position, found = CASE WHEN @next_position = '' THEN 0 ELSE @found::bigint END,
    mismatches = CASE WHEN @next_position = '' THEN @found::bigint ELSE mismatches END,
    finished_at = CASE WHEN @next_position = '' THEN statement_timestamp() ELSE finished_at END
WHERE singleton AND version = @version;

-- name: ReconciliationResult :many
-- What the metrics report: a pass that has found more than the last one counts at once.
SELECT greatest(mismatches, found)::bigint AS mismatches,
       coalesce(extract(epoch FROM statement_timestamp() - finished_at), -1)::float8 AS age
FROM reconciliation WHERE singleton;
