package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// invariant is something that is true of the database between any two transactions,
// whatever was done to the service. The query finds what contradicts it, a line each.
type invariant struct {
	name      string
	offenders string
}

const (
	balanceIsSum      = "a balance is the sum of its entries"
	balanceNotBelow   = "a balance is never negative"
	entrySides        = "a entry leaves one account and arrives at another"
	refundsWithin     = "refunds are at most what was captured"
	moneyMoved        = "a payment and a refund are one entry each"
	reservedIsHeld    = "reserved is what live holds keep, and on the shelf"
	stockIsConserved  = "what was there is on the shelf or sold"
	oneLivePayment    = "an order has at most one live payment"
	moneyFitsStatus   = "an order's money is what its status says"
	holdFitsStatus    = "only an order that waits for payment holds stock"
	oneEventAChange   = "every change has exactly one event"
	noEventOfNothing  = "no event tells what did not happen"
	auditIsComplete   = "audit rows are what administrators did"
	answersWorthIt    = "no failure is a stored answer"
	successHasEffect  = "a stored success has its effect"
	cancellationIsOne = "a cancelled order says by whom"
)

var invariants = []invariant{
	{balanceIsSum, `
		WITH entry AS (
			SELECT credit AS account, currency, amount FROM ledger_entry UNION ALL SELECT debit, currency, -amount FROM ledger_entry
		), books AS (
			SELECT account, currency, sum(amount) AS amount FROM entry WHERE account LIKE 'customer/%' GROUP BY account, currency
		)
		SELECT format('customer/%s: %s %s, the entries make %s', b.customer_id, b.amount, b.currency, e.amount)
		FROM balance b FULL JOIN books e ON e.account = 'customer/' || b.customer_id AND e.currency = b.currency
		WHERE coalesce(b.amount, 0) <> coalesce(e.amount, 0)`},
	{balanceNotBelow, `
		SELECT customer_id FROM balance WHERE amount < 0
		UNION ALL SELECT 'entry ' || id FROM ledger_entry WHERE balance_after < 0`},
	{entrySides, `
		SELECT 'entry ' || id FROM ledger_entry
		WHERE debit = credit OR amount <= 0 OR 'customer/' || customer_id NOT IN (debit, credit)`},
	{refundsWithin, `
		SELECT 'payment ' || p.id FROM payment p JOIN refund r ON r.payment_id = p.id AND r.status <> 'failed'
		GROUP BY p.id HAVING sum(r.amount) > p.amount OR p.status <> 'captured' OR bool_or(r.currency <> p.currency)`},
	{moneyMoved, `
		SELECT 'payment ' || p.id FROM payment p JOIN orders o ON o.id = p.order_id
		WHERE p.method = 'balance' AND p.status = 'captured' AND 1 <> (
			SELECT count(*) FROM ledger_entry m WHERE m.payment_id = p.id AND m.kind = 'payment' AND m.amount = p.amount
			AND m.currency = p.currency AND m.debit = 'customer/' || o.customer_id AND m.credit = 'seller/' || o.seller_id)
		UNION ALL
		SELECT 'refund ' || r.id FROM refund r JOIN orders o ON o.id = r.order_id JOIN payment p ON p.id = r.payment_id
		WHERE (r.status = 'succeeded')::int <> ( -- what a card could not take came back
			SELECT count(*) FILTER (WHERE m.debit = 'seller/' || o.seller_id AND m.credit = back.account)
			     - count(*) FILTER (WHERE m.debit = 'provider' AND m.credit = 'seller/' || o.seller_id AND r.status = 'failed')
			FROM ledger_entry m, (SELECT CASE p.method WHEN 'card' THEN 'provider' ELSE 'customer/' || o.customer_id END AS account) back
			WHERE m.refund_id = r.id AND m.kind = 'refund' AND m.amount = r.amount AND m.currency = r.currency)
		UNION ALL
		SELECT 'card payment ' || p.id FROM payment p JOIN orders o ON o.id = p.order_id
		WHERE p.method = 'card' AND (p.status = 'captured')::int <> (
			SELECT count(*) FROM ledger_entry m WHERE m.payment_id = p.id AND m.kind = 'payment' AND m.amount = p.amount
			AND m.currency = p.currency AND m.debit = 'provider' AND m.credit = 'seller/' || o.seller_id)
		UNION ALL
		SELECT 'entry ' || id FROM ledger_entry
		WHERE (kind = 'payment' AND payment_id IS NULL) OR (kind = 'refund' AND refund_id IS NULL)`},
	{reservedIsHeld, `
		WITH held AS (
			SELECT i.sku, sum(i.quantity) AS n FROM orders o JOIN order_item i ON i.order_id = o.id
			WHERE o.reserved_until IS NOT NULL GROUP BY i.sku
		)
		SELECT format('%s: %s reserved of %s, holds keep %s', p.sku, p.reserved, p.on_hand, coalesce(h.n, 0))
		FROM product p LEFT JOIN held h USING (sku)
		WHERE p.reserved <> coalesce(h.n, 0) OR p.reserved NOT BETWEEN 0 AND p.on_hand`},
	{oneLivePayment, `
		SELECT 'order ' || order_id FROM payment WHERE status IN ('processing', 'captured') GROUP BY order_id HAVING count(*) > 1`},
	{moneyFitsStatus, `
		WITH money AS (
			SELECT o.id, o.status, o.total, coalesce(sum(p.amount) FILTER (WHERE p.status = 'captured'), 0) AS captured,
			       coalesce((SELECT sum(r.amount) FROM refund r WHERE r.order_id = o.id AND r.status <> 'failed'), 0) AS refunded
			FROM orders o LEFT JOIN payment p ON p.order_id = o.id GROUP BY o.id
		)
		SELECT format('order %s is %s: %s captured, %s refunded', id, status, captured, refunded) FROM money WHERE NOT CASE
			WHEN status IN ('pending_payment', 'payment_processing') THEN captured = 0 AND refunded = 0
			WHEN status IN ('paid', 'fulfilling') THEN captured = total AND refunded < captured
			WHEN status = 'cancelled' THEN captured = refunded OR EXISTS ( -- the card did not take it back
				SELECT FROM refund r JOIN payment p ON p.id = r.payment_id
				WHERE r.order_id = money.id AND r.status = 'failed' AND p.method = 'card')
			ELSE captured = total
		END`},
	{holdFitsStatus, `
		SELECT 'order ' || id FROM orders
		WHERE reserved_until IS NOT NULL AND status NOT IN ('pending_payment', 'payment_processing')`},
	{cancellationIsOne, `SELECT 'order ' || id FROM orders WHERE (status = 'cancelled') <> (cancelled_by IS NOT NULL)`},
	{oneEventAChange, `
		SELECT 'order ' || o.id FROM orders o LEFT JOIN outbox e ON e.aggregate = 'order/' || o.id
		GROUP BY o.id HAVING count(e.id) <> o.version OR count(DISTINCT e.data->>'version') <> o.version
			OR max((e.data->>'version')::bigint) <> o.version
		UNION ALL
		SELECT 'payment ' || id FROM payment p WHERE 1 <> (
			SELECT count(*) FROM outbox WHERE type = 'payment.' || p.status AND aggregate = 'payment/' || p.id)
		UNION ALL
		SELECT 'refund ' || id FROM refund r WHERE 1 <> (
			SELECT count(*) FROM outbox WHERE type = 'refund.' || r.status AND (data->>'refund_id')::bigint = r.id)
		UNION ALL
		SELECT 'entry ' || id FROM ledger_entry m WHERE customer_id IS NOT NULL AND 1 <> (
			SELECT count(*) FROM outbox WHERE type = 'balance.' || m.kind AND (data->>'balance_transaction_id')::bigint = m.id)`},
	{noEventOfNothing, `
		WITH told AS (SELECT count(*) AS n FROM outbox), done AS (
			SELECT (SELECT coalesce(sum(version), 0) FROM orders) + (SELECT count(*) FROM payment)
			     + (SELECT count(*) FROM refund) + (SELECT count(*) FROM ledger_entry WHERE customer_id IS NOT NULL)
			     -- What a provider decides has begun before, and told so.
			     + (SELECT count(*) FROM payment WHERE method = 'card' AND status <> 'processing')
			     + (SELECT count(*) FROM refund r JOIN payment p ON p.id = r.payment_id
			        WHERE p.method = 'card' AND r.status <> 'pending')
			     + (SELECT count(*) FROM ledger_entry WHERE kind = 'refund' AND debit = 'provider') AS n)
		SELECT format('%s events of %s changes', told.n, done.n) FROM told, done WHERE told.n <> done.n`},
	{auditIsComplete, `
		WITH done AS (
			SELECT 'RefundPayment' AS action, created_by AS actor, 'order/' || order_id AS resource FROM refund
				WHERE idempotency_key IS NOT NULL
			UNION ALL SELECT 'CancelOrder', cancelled_by, 'order/' || id FROM orders WHERE cancel_key IS NOT NULL
			UNION ALL SELECT CASE kind WHEN 'credit' THEN 'CreditBalance' ELSE 'ChargeBalance' END, created_by, 'balance/' || customer_id
				FROM ledger_entry WHERE kind IN ('credit', 'charge')
		), effects AS (
			SELECT action, actor, resource, count(*) AS n FROM done GROUP BY 1, 2, 3
		), told AS (
			SELECT action, actor, resource, count(*) AS n FROM audit_log
			WHERE action IN ('RefundPayment', 'CancelOrder', 'CreditBalance', 'ChargeBalance') GROUP BY 1, 2, 3
		)
		SELECT format('%s of %s by %s: %s effects, %s rows', action, resource, actor, coalesce(e.n, 0), coalesce(t.n, 0))
		FROM effects e FULL JOIN told t USING (action, actor, resource)
		WHERE coalesce(t.n, 0) > coalesce(e.n, 0) OR (actor = '` + root + `' AND coalesce(t.n, 0) < e.n) -- others may have other roles
		UNION ALL
		SELECT format('%s to %s was audited and did not happen', resource, metadata->>'status') FROM audit_log a
		WHERE action = 'UpdateOrderStatus' AND NOT EXISTS (
			SELECT FROM outbox e WHERE e.aggregate = a.resource AND e.type = 'order.' || (a.metadata->>'status'))`},
	{answersWorthIt, `
		SELECT format('%s: %s', key, status) FROM idempotency_record
		WHERE status / 100 <> 2 AND status NOT IN (402, 409, 422)`},
	{successHasEffect, `
		WITH stored AS (
			SELECT operation AS command, key, substring(scope from '[^ ]* (.*)') AS actor FROM idempotency_record WHERE status / 100 = 2
		)
		SELECT command || ' ' || key FROM stored s WHERE NOT CASE command
			WHEN 'createOrder' THEN EXISTS (SELECT FROM orders WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'reserveInventory' THEN EXISTS (SELECT FROM reservation_extension WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'confirmPayment' THEN EXISTS (SELECT FROM payment WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'refundPayment' THEN EXISTS (SELECT FROM refund WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'cancelOrder' THEN EXISTS (SELECT FROM orders WHERE cancel_key = s.key AND cancelled_by = s.actor)
			WHEN 'creditBalance' THEN EXISTS (SELECT FROM ledger_entry WHERE idempotency_key = s.key AND created_by = s.actor)
			WHEN 'chargeBalance' THEN EXISTS (SELECT FROM ledger_entry WHERE idempotency_key = s.key AND created_by = s.actor)
			ELSE false
		END`},
}

// checkLedger reports every invariant that does not hold. It sees one moment, so it may
// run while the service works. Without a shelf, what was there at the start is not
// known and not checked.
func checkLedger(t testing.TB, db *pgxpool.Pool, stock shelf) {
	t.Helper()
	found, err := violations(db, stock)
	if err != nil {
		t.Errorf("check the books: %v", err)
	}
	for _, v := range found {
		t.Errorf("%s, but: %s", v.name, v.offenders)
	}
}

// violations gives the invariants that do not hold, each with an offender. The context
// is its own: books are checked when the test's is over.
func violations(db *pgxpool.Pool, stock shelf) (found []invariant, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	oneMoment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, db, oneMoment, func(tx pgx.Tx) error {
		found, err = violationsIn(ctx, tx, stock)
		return err
	})
	return found, err
}

func violationsIn(ctx context.Context, tx pgx.Tx, stock shelf) ([]invariant, error) {
	var found []invariant
	for _, inv := range invariants {
		rows, err := tx.Query(ctx, inv.offenders+" LIMIT 5")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", inv.name, err)
		}
		offenders, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", inv.name, err)
		}
		for _, offender := range offenders {
			found = append(found, invariant{inv.name, offender})
		}
	}
	lost, err := lostStock(ctx, tx, stock)
	return append(found, lost...), err
}

// lostStock compares what is on the shelf or sold with what was there.
func lostStock(ctx context.Context, tx pgx.Tx, stock shelf) ([]invariant, error) {
	rows, err := tx.Query(ctx, `
		SELECT p.sku, p.on_hand, coalesce(sum(i.quantity) FILTER (
			WHERE o.status IN ('paid', 'fulfilling', 'shipped', 'delivered')), 0) AS sold
		FROM product p LEFT JOIN order_item i USING (sku) LEFT JOIN orders o ON o.id = i.order_id
		GROUP BY p.sku`)
	if err != nil {
		return nil, err
	}
	var found []invariant
	var sku string
	var onHand, sold int
	_, err = pgx.ForEachRow(rows, []any{&sku, &onHand, &sold}, func() error {
		if initial, known := stock[sku]; known && initial != onHand+sold {
			found = append(found, invariant{stockIsConserved, fmt.Sprintf("%s: %d at the start, %d on hand, %d sold", sku, initial, onHand, sold)})
		}
		return nil
	})
	return found, err
}

// Books that nobody could find wrong would prove nothing: each invariant notices the
// damage that it is there for.
func TestCheckBooksFindsDamage(t *testing.T) {
	t.Parallel()
	stock := shelf{"tea": 100}
	s := newService(t)
	s.putProduct("tea", stock["tea"])
	s.order(alice, "tea", 1)
	s.orderThatIs("cancelled", alice, "tea")
	paid := s.boughtOrder(alice, "tea", 3)
	want[refundBody](s, 200, s.refundCall(s.asAdmin(), paid.ID, "50.00"))
	back := s.boughtOrder(alice, "tea", 1)
	want[refundBody](s, 200, s.refundCall(s.asCustomer(), back.ID, ""))
	want[orderBody](s, 200, statusCall(s.asAdmin(), paid.ID, "fulfilling"))
	checkLedger(t, s.db, stock)

	const anOrder = "(SELECT min(id) FROM orders WHERE status = 'pending_payment')"
	damages := map[string]struct {
		sql   string
		finds string
	}{
		"a balance was raised":              {"UPDATE balance SET amount = amount + 0.01", balanceIsSum},
		"a balance is gone":                 {"DELETE FROM balance", balanceIsSum},
		"a balance is negative":             {"ALTER TABLE balance DROP CONSTRAINT balance_amount_check; UPDATE balance SET amount = -1", balanceNotBelow},
		"a entry goes nowhere":              {"ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_check; UPDATE ledger_entry SET debit = credit", entrySides},
		"a entry of somebody else's":        {"UPDATE ledger_entry SET customer_id = 'mallory'", entrySides},
		"a refund grew":                     {"UPDATE refund SET amount = amount + 1000", refundsWithin},
		"a refund changed its currency":     {"UPDATE refund SET currency = 'EUR'", refundsWithin},
		"a payment did not move":            {"UPDATE ledger_entry SET payment_id = NULL WHERE kind = 'payment'", moneyMoved},
		"a refund moved more":               {"UPDATE ledger_entry SET amount = amount + 1 WHERE kind = 'refund'", moneyMoved},
		"a unit is reserved for nobody":     {"UPDATE product SET reserved = reserved + 1", reservedIsHeld},
		"a hold was released twice":         {"UPDATE product SET reserved = reserved - 1", reservedIsHeld},
		"a unit is gone":                    {"UPDATE product SET on_hand = on_hand - 1", stockIsConserved},
		"a unit was restocked twice":        {"UPDATE product SET on_hand = on_hand + 1", stockIsConserved},
		"an order was paid twice":           {"DROP INDEX payment_one_live; INSERT INTO payment (order_id, idempotency_key, amount, currency, method, status, created_by) SELECT order_id, 'another', amount, currency, method, status, created_by FROM payment", oneLivePayment},
		"an order is paid with nothing":     {"UPDATE orders SET reserved_until = NULL, status = 'paid' WHERE id = " + anOrder, moneyFitsStatus},
		"a paid order waits again":          {"UPDATE orders SET status = 'pending_payment' WHERE status = 'fulfilling'", moneyFitsStatus},
		"money of a cancelled order":        {"UPDATE refund SET amount = amount - 1 WHERE full_refund", moneyFitsStatus},
		"a hold outlived its order":         {"ALTER TABLE orders DROP CONSTRAINT orders_check1; UPDATE orders SET reserved_until = now() WHERE status = 'fulfilling'", holdFitsStatus},
		"nobody cancelled":                  {"ALTER TABLE orders DROP CONSTRAINT orders_check; UPDATE orders SET cancelled_by = NULL", cancellationIsOne},
		"an order's event is missing":       {"DELETE FROM outbox WHERE type = 'order.paid'", oneEventAChange},
		"an order's event came twice":       {"UPDATE outbox SET data = jsonb_set(data, '{version}', '1') WHERE type = 'order.paid'", oneEventAChange},
		"a payment's event is missing":      {"UPDATE outbox SET type = 'payment.failed' WHERE type = 'payment.captured'", oneEventAChange},
		"a refund's event is missing":       {"DELETE FROM outbox WHERE type = 'refund.succeeded'", oneEventAChange},
		"a entry's event is missing":        {"DELETE FROM outbox WHERE type = 'balance.credit'", oneEventAChange},
		"an event of no order":              {"INSERT INTO outbox (type, aggregate, data, created_at) VALUES ('order.paid', 'order/0', '{}', now())", noEventOfNothing},
		"an administrator left no row":      {"DELETE FROM audit_log WHERE action = 'RefundPayment'", auditIsComplete},
		"a row of what never happened":      {"INSERT INTO audit_log (actor, at, action, resource) VALUES ('root', now(), 'CancelOrder', 'order/1')", auditIsComplete},
		"a row of a status that never was":  {"UPDATE audit_log SET metadata = '{\"status\": \"shipped\"}' WHERE action = 'UpdateOrderStatus'", auditIsComplete},
		"a failure was stored":              {"UPDATE idempotency_record SET status = 503", answersWorthIt},
		"an answer without its order":       {"UPDATE orders SET idempotency_key = 'another' WHERE id = " + anOrder, successHasEffect},
		"an answer without its refund":      {"UPDATE refund SET idempotency_key = 'another' WHERE NOT full_refund", successHasEffect},
		"an answer without its entry":       {"UPDATE ledger_entry SET idempotency_key = 'another-' || id WHERE kind = 'credit'", successHasEffect},
		"an answer without its payment":     {"UPDATE payment SET idempotency_key = 'another'", successHasEffect},
		"an answer without a cancellation":  {"UPDATE orders SET cancel_key = 'another' WHERE cancel_key IS NOT NULL", successHasEffect},
		"an answer of a command of nothing": {"UPDATE idempotency_record SET operation = 'mystery'", successHasEffect},
	}
	unproven := map[string]bool{stockIsConserved: true}
	for _, inv := range invariants {
		unproven[inv.name] = true
	}
	for name, damage := range damages {
		delete(unproven, damage.finds)
		t.Run(name, func(t *testing.T) {
			if got := damaged(t, s.db, damage.sql, stock); !slices.ContainsFunc(got, func(v invariant) bool { return v.name == damage.finds }) {
				t.Errorf("nobody noticed it; found %v", got)
			}
		})
	}
	for name := range unproven {
		t.Errorf("no damage proves that the checker knows: %s", name)
	}
}

// damaged gives the violations that sql makes, and undoes it.
func damaged(t *testing.T, db *pgxpool.Pool, sql string, stock shelf) []invariant {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	tx, err := db.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // the damage is undone in any case
	if _, err := tx.Exec(ctx, sql); err != nil {
		t.Fatal(err)
	}
	found, err := violationsIn(ctx, tx, stock)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
