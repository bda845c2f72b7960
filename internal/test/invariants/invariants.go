// Package invariants says what holds in the database between any two transactions, and
// between the database and the services that ours uses. It knows no running service.
package invariants

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

// invariant holds in the database between any two transactions, despite all faults. The
// query returns a line for each offender. Its parameter $1 is the initial stock.
type invariant struct {
	name      string
	offenders string
}

// Administrator is the administrator in the tests. The audit log has an entry for each
// effect of theirs; other people may have other roles.
const Administrator = "root"

// AuditedCommands are the actions with entries that are counted against effects, for
// IN in SQL.
const AuditedCommands = `'RefundPayment', 'CancelOrder', 'CreditBalance', 'ChargeBalance', 'AdjustStock'`

var invariants = []invariant{
	{"a balance is the sum of its ledger entries", `
		WITH entry AS (
			SELECT credit AS account, currency, amount FROM ledger_entry UNION ALL SELECT debit, currency, -amount FROM ledger_entry
		), sums AS (
			SELECT account, currency, sum(amount) AS amount FROM entry WHERE account LIKE 'customer/%' GROUP BY account, currency
		)
		SELECT format('customer/%s: %s %s, its entries sum up to %s', b.customer_id, b.amount, b.currency, e.amount)
		FROM balance b FULL JOIN sums e ON e.account = 'customer/' || b.customer_id AND e.currency = b.currency
		WHERE coalesce(b.amount, 0) <> coalesce(e.amount, 0)`},
	{"a balance is never negative", `
		SELECT customer_id FROM balance WHERE amount < 0
		UNION ALL SELECT 'entry ' || id FROM ledger_entry WHERE balance_after < 0`},
	{"each entry of a balance is the next change of it, and no older than the one before", `
		SELECT 'entry ' || id FROM (
			SELECT *, row_number() OVER entries AS n, lag(created_at) OVER entries AS before,
			       sum(CASE WHEN credit = 'customer/' || customer_id THEN amount ELSE -amount END) OVER entries AS balance
			FROM ledger_entry WHERE customer_id IS NOT NULL
			WINDOW entries AS (PARTITION BY customer_id, currency ORDER BY position)
		) e WHERE position <> n OR balance_after <> balance OR created_at < before
		UNION ALL
		SELECT 'balance ' || customer_id FROM balance b WHERE position <> (
			SELECT count(*) FROM ledger_entry e WHERE (e.customer_id, e.currency) = (b.customer_id, b.currency))`},
	{"a ledger entry debits one account and credits another", `
		SELECT 'entry ' || id FROM ledger_entry
		WHERE debit = credit OR amount <= 0 OR 'customer/' || customer_id NOT IN (debit, credit)`},
	{"refunds are at most what was captured", `
		SELECT 'payment ' || p.id FROM payment p JOIN refund r ON r.payment_id = p.id AND r.status <> 'failed'
			-- One that waits may have lost the money to a refund in the provider's dashboard.
			AND NOT (r.status = 'pending' AND EXISTS (SELECT FROM refund t WHERE t.payment_id = p.id AND t.made_at_provider))
		GROUP BY p.id HAVING sum(r.amount) > p.amount OR p.status = 'processing' OR bool_or(r.currency <> p.currency)`},
	{"a payment and a refund are one ledger entry each", `
		SELECT 'payment ' || p.id FROM payment p JOIN orders o ON o.id = p.order_id
		WHERE p.method = 'balance' AND p.status = 'captured' AND 1 <> (
			SELECT count(*) FROM ledger_entry m WHERE m.payment_id = p.id AND m.kind = 'payment' AND m.amount = p.amount
			AND m.currency = p.currency AND m.debit = 'customer/' || o.customer_id AND m.credit = 'seller/' || o.seller_id)
		UNION ALL
		SELECT 'refund ' || r.id FROM refund r JOIN orders o ON o.id = r.order_id JOIN payment p ON p.id = r.payment_id
		WHERE (r.status = 'succeeded')::int <> ( -- a refund that a card rejects is reversed
			SELECT count(*) FILTER (WHERE m.debit = receiver.account AND m.credit = back.account)
			     - count(*) FILTER (WHERE m.debit = 'provider' AND m.credit = receiver.account AND r.status = 'failed')
			FROM ledger_entry m, (SELECT CASE p.method WHEN 'card' THEN 'provider' ELSE 'customer/' || o.customer_id END AS account) back,
			     (SELECT CASE p.status WHEN 'failed' THEN 'unapplied' ELSE 'seller/' || o.seller_id END AS account) receiver
			WHERE m.refund_id = r.id AND m.kind = 'refund' AND m.amount = r.amount AND m.currency = r.currency)
		UNION ALL
		SELECT 'card payment ' || p.id FROM payment p JOIN orders o ON o.id = p.order_id
		WHERE p.method = 'card' AND (p.status = 'captured')::int <> (
			SELECT count(*) FROM ledger_entry m WHERE m.payment_id = p.id AND m.kind = 'payment' AND m.amount = p.amount
			AND m.currency = p.currency AND m.debit = 'provider' AND m.credit = 'seller/' || o.seller_id)
		UNION ALL
		SELECT 'late capture of payment ' || p.id FROM payment p
		WHERE p.status = 'failed' AND EXISTS (SELECT FROM refund r WHERE r.payment_id = p.id)::int <> (
			SELECT count(*) FROM ledger_entry m WHERE m.payment_id = p.id AND m.kind = 'payment' AND m.amount = p.amount
			AND m.currency = p.currency AND m.debit = 'provider' AND m.credit = 'unapplied')
		UNION ALL
		SELECT 'entry ' || id FROM ledger_entry
		WHERE (kind = 'payment' AND payment_id IS NULL) OR (kind = 'refund' AND refund_id IS NULL)`},
	{"the reserved quantity is what reservations need, and on hand", `
		WITH needed AS (
			SELECT i.sku, sum(i.quantity) AS units FROM orders o JOIN order_item i ON i.order_id = o.id
			WHERE o.reserved_until IS NOT NULL GROUP BY i.sku
		)
		SELECT format('%s: %s reserved of %s, reservations need %s', p.sku, p.reserved, p.on_hand, coalesce(n.units, 0))
		FROM product p LEFT JOIN needed n USING (sku)
		WHERE p.reserved <> coalesce(n.units, 0) OR p.reserved NOT BETWEEN 0 AND p.on_hand`},
	{"the initial stock and its adjustments are on hand or sold", `
		SELECT format('%s: %s at the start, adjusted by %s, %s on hand, %s sold', sku, initial, adjusted, on_hand, sold) FROM (
			SELECT p.sku, p.on_hand, ($1::jsonb->>p.sku)::bigint AS initial,
			       coalesce((SELECT sum(a.change) FROM stock_adjustment a WHERE a.sku = p.sku), 0) AS adjusted,
			       coalesce((SELECT sum(i.quantity) FROM order_item i JOIN orders o ON o.id = i.order_id
			                 WHERE i.sku = p.sku AND o.status IN ('paid', 'fulfilling', 'shipped', 'delivered')), 0) AS sold
			FROM product p
		) p WHERE initial + adjusted <> on_hand + sold`},
	{"an order has at most one live payment", `
		SELECT 'order ' || order_id FROM payment WHERE status IN ('processing', 'captured') GROUP BY order_id HAVING count(*) > 1`},
	{"an order's money is what its status says", `
		WITH money AS (
			SELECT o.id, o.status, o.total, coalesce(sum(p.amount) FILTER (WHERE p.status = 'captured'), 0) AS captured,
			       coalesce((SELECT sum(r.amount) FROM refund r JOIN payment c ON c.id = r.payment_id AND c.status = 'captured'
			                 WHERE r.order_id = o.id AND r.status <> 'failed'), 0) AS refunded,
			       coalesce((SELECT sum(d.amount) FROM dispute d -- a bank may change its decision when the order is cancelled
			                 WHERE d.order_id = o.id AND d.external_id IN (
			                     SELECT data->'dispute'->>'id' FROM outbox WHERE type = 'payment.dispute_lost')), 0) AS lost
			FROM orders o LEFT JOIN payment p ON p.order_id = o.id GROUP BY o.id
		)
		SELECT format('order %s is %s: %s captured, %s refunded', id, status, captured, refunded) FROM money WHERE NOT CASE
			WHEN status IN ('pending_payment', 'payment_processing') THEN captured = 0 AND refunded = 0
			WHEN status IN ('paid', 'fulfilling') THEN captured = total AND refunded < captured
			WHEN status = 'cancelled' THEN captured <= refunded + lost OR EXISTS ( -- the card rejected the refund
				SELECT FROM refund r JOIN payment p ON p.id = r.payment_id
				WHERE r.order_id = money.id AND r.status = 'failed' AND p.method = 'card')
			ELSE captured = total
		END`},
	{"only an order that waits for payment has a reservation", `
		SELECT 'order ' || id FROM orders
		WHERE reserved_until IS NOT NULL AND status NOT IN ('pending_payment', 'payment_processing')`},
	{"a cancelled order names who cancelled it", `SELECT 'order ' || id FROM orders WHERE (status = 'cancelled') <> (cancelled_by IS NOT NULL)`},
	{"every change has exactly one event", `
		SELECT 'order ' || o.id FROM orders o LEFT JOIN outbox e ON e.aggregate = 'order/' || o.id
		GROUP BY o.id HAVING count(e.id) <> o.version OR count(DISTINCT e.data->>'version') <> o.version
			OR max((e.data->>'version')::bigint) <> o.version
		UNION ALL
		SELECT 'payment ' || p.id FROM payment p LEFT JOIN outbox e ON e.type = 'payment.' || p.status AND e.aggregate = 'payment/' || p.id
		GROUP BY p.id HAVING count(e.id) <> 1
		UNION ALL
		SELECT 'refund ' || r.id FROM refund r LEFT JOIN outbox e ON e.type = 'refund.' || r.status AND (e.data->>'refund_id')::bigint = r.id
		GROUP BY r.id HAVING count(e.id) <> 1
		UNION ALL
		SELECT 'dispute ' || external_id FROM dispute d WHERE ( -- it may begin and end more than once
			SELECT type FROM outbox WHERE data->'dispute'->>'id' = d.external_id ORDER BY id DESC LIMIT 1
		) IS DISTINCT FROM CASE WHEN status = 'lost' THEN 'payment.dispute_lost'
			WHEN status IN ('warning_closed', 'prevented', 'won') THEN 'payment.dispute_won' ELSE 'payment.disputed' END
		UNION ALL
		SELECT 'entry ' || m.id FROM ledger_entry m
		LEFT JOIN outbox e ON e.type = 'balance.' || m.kind AND (e.data->>'balance_transaction_id')::bigint = m.id
		WHERE m.customer_id IS NOT NULL GROUP BY m.id HAVING count(e.id) <> 1
		UNION ALL
		SELECT 'adjustment ' || a.id FROM stock_adjustment a
		LEFT JOIN outbox e ON e.type = 'product.stock_adjusted' AND (e.data->>'stock_adjustment_id')::bigint = a.id
		GROUP BY a.id HAVING count(e.id) <> 1`},
	{"every event has a change", `
		WITH event AS (SELECT count(*) AS n FROM outbox WHERE data->'dispute' IS NULL), change AS (
			SELECT (SELECT coalesce(sum(version), 0) FROM orders) + (SELECT count(*) FROM payment)
			     + (SELECT count(*) FROM refund) + (SELECT count(*) FROM stock_adjustment) + (SELECT count(*) FROM ledger_entry WHERE customer_id IS NOT NULL)
			     -- A card payment and its refund have an event when they begin, too.
			     + (SELECT count(*) FROM payment WHERE method = 'card' AND status <> 'processing')
			     + (SELECT count(*) FROM refund r JOIN payment p ON p.id = r.payment_id
			        WHERE p.method = 'card' AND r.status <> 'pending')
			     + (SELECT count(*) FROM ledger_entry WHERE kind = 'refund' AND debit = 'provider')
			     + (SELECT count(*) FROM ledger_entry WHERE kind = 'payment' AND credit = 'unapplied') AS n)
		SELECT format('%s events for %s changes', event.n, change.n) FROM event, change WHERE event.n <> change.n`},
	{"a dispute begins with an event, and each event says other than the one before", `
		WITH said AS (
			SELECT e.dispute, e.text, lag(e.text, 1, '') OVER (PARTITION BY e.dispute ORDER BY e.id) AS before
			FROM (SELECT id, data->'dispute'->>'id' AS dispute, type || ' as ' || coalesce(data->'dispute'->>'status', '') AS text
			      FROM outbox WHERE data->'dispute' IS NOT NULL) e
		)
		SELECT format('%s after %s about %s', text, before, dispute) FROM said
		WHERE text = before OR before = '' AND text NOT LIKE 'payment.disputed %' OR NOT EXISTS (SELECT FROM dispute WHERE external_id = dispute)`},
	{"the audit log is what administrators did", `
		WITH done AS (
			SELECT 'RefundPayment' AS action, created_by AS actor, 'order/' || order_id AS resource FROM refund
				WHERE idempotency_key IS NOT NULL
			UNION ALL SELECT 'CancelOrder', cancelled_by, 'order/' || id FROM orders WHERE cancel_key IS NOT NULL
			UNION ALL SELECT CASE kind WHEN 'credit' THEN 'CreditBalance' ELSE 'ChargeBalance' END, created_by, 'balance/' || customer_id
				FROM ledger_entry WHERE kind IN ('credit', 'charge')
			UNION ALL SELECT 'AdjustStock', created_by, 'product/' || sku FROM stock_adjustment
		), effects AS (
			SELECT action, actor, resource, count(*) AS n FROM done GROUP BY 1, 2, 3
		), entries AS (
			SELECT action, actor, resource, count(*) AS n FROM audit_log
			WHERE action IN (` + AuditedCommands + `) GROUP BY 1, 2, 3
		)
		SELECT format('%s of %s by %s: %s effects, %s entries', action, resource, actor, coalesce(e.n, 0), coalesce(t.n, 0))
		FROM effects e FULL JOIN entries t USING (action, actor, resource)
		WHERE coalesce(t.n, 0) > coalesce(e.n, 0) OR (actor = '` + Administrator + `' AND coalesce(t.n, 0) < e.n)
		UNION ALL
		SELECT format('%s to %s is in the audit log and did not happen', resource, metadata->>'status') FROM audit_log a
		WHERE action = 'UpdateOrderStatus' AND NOT EXISTS (
			SELECT FROM outbox e WHERE e.aggregate = a.resource AND e.type = 'order.' || (a.metadata->>'status'))`},
	{"no failure is stored under a key", `
		SELECT format('%s: %s', key, status) FROM idempotency_record
		WHERE status / 100 <> 2 AND status NOT IN (402, 409, 422)`},
	{"every stored success has its effect", `
		WITH stored AS (
			SELECT operation AS command, key, substring(scope from '[^ ]* (.*)') AS actor FROM idempotency_record WHERE status / 100 = 2
		)
		SELECT command || ' ' || key FROM stored s WHERE NOT CASE command
			WHEN 'createOrder' THEN EXISTS (SELECT FROM orders WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'reserveInventory' THEN EXISTS (SELECT FROM reservation_extension WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'confirmPayment' THEN EXISTS (SELECT FROM payment WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'refundPayment' THEN EXISTS (SELECT FROM refund WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'cancelOrder' THEN EXISTS (SELECT FROM orders WHERE cancel_key = s.key AND cancelled_by = s.actor)
			WHEN 'adjustStock' THEN EXISTS (SELECT FROM stock_adjustment WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'creditBalance' THEN EXISTS (SELECT FROM ledger_entry WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'chargeBalance' THEN EXISTS (SELECT FROM ledger_entry WHERE idempotency_key = s.key AND created_by = s.actor)
			ELSE false
		END`},
}

// Queries returns a query for each invariant, for its name and offenders. Their parameter $1
// is the initial stock.
func Queries() []string {
	queries := make([]string, len(invariants))
	for i, inv := range invariants {
		queries[i] = fmt.Sprintf("SELECT $i$%s$i$, offender FROM (%s LIMIT 5) AS o (offender)", inv.name, inv.offenders)
	}
	return queries
}

// all is the query for all invariants. One statement reads one snapshot, and is planned once
// in a session.
var all = sync.OnceValue(func() string { return strings.Join(Queries(), " UNION ALL ") })

// Check reports every violated invariant. It may run while the service works. Without the
// initial stock it does not check whether stock was lost.
func Check(t testing.TB, db *pgxpool.Pool, stock map[string]int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testwait.Patience) // the test's context may be over
	defer cancel()
	found, err := Violations(ctx, db, stock)
	for _, violation := range found {
		t.Error(violation)
	}
	if err != nil {
		t.Errorf("check the invariants: %v", err)
	}
}

// Violations returns the violated invariants, each with an offender.
func Violations(ctx context.Context, db pgtest.Querier, stock map[string]int) ([]string, error) {
	rows, _ := db.Query(ctx, all(), stock) // ForEachRow returns the error
	var found []string
	var name, offender string
	_, err := pgx.ForEachRow(rows, []any{&name, &offender}, func() error {
		found = append(found, name+", but: "+offender)
		return nil
	})
	return found, err
}
