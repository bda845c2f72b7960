package invariants_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/test/e2e"
	"example.com/orders/internal/test/invariants"
	pgtest "example.com/orders/internal/test/pg"
)

const (
	anOrder  = "(SELECT min(id) FROM orders WHERE status = 'pending_payment')"
	payTwice = `DROP INDEX payment_one_live;
		INSERT INTO payment (order_id, idempotency_key, amount, currency, method, status, created_by)
		SELECT order_id, 'another', amount, currency, method, status, created_by FROM payment`
	newDispute = `INSERT INTO dispute (external_id, payment_id, order_id, amount, currency, reason, status, created_at)
		SELECT 'dp_0', id, order_id, 1, currency, '', 'lost', now() FROM payment LIMIT 1;
		INSERT INTO outbox (type, aggregate, data, created_at) `
	chargeItself = `ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_check; UPDATE ledger_entry SET debit = credit`
)

// damages are changes of the database by the invariant that they contradict.
var damages = map[string][]string{
	"a balance is the sum of its ledger entries": {"DELETE FROM balance"},
	"a balance is never negative":                {"ALTER TABLE balance DROP CONSTRAINT balance_amount_check; UPDATE balance SET amount = -1"},
	"each entry of a balance is the next change of it, and no older than the one before": {
		"UPDATE ledger_entry SET position = position + 100 WHERE kind = 'payment'",
		"UPDATE ledger_entry SET created_at = '-infinity' WHERE kind = 'payment'",
	},
	"a ledger entry debits one account and credits another": {
		chargeItself,
		"UPDATE ledger_entry SET customer_id = 'mallory'",
	},
	"refunds are at most what was captured": {
		"UPDATE refund SET amount = amount + 1000",
		"UPDATE refund SET currency = 'EUR'",
	},
	"a payment and a refund are one ledger entry each": {
		"UPDATE ledger_entry SET payment_id = NULL WHERE kind = 'payment'",
		"UPDATE ledger_entry SET amount = amount + 1 WHERE kind = 'refund'",
	},
	"the reserved quantity is what reservations need, and on hand": {"UPDATE product SET reserved = reserved - 1"},
	"the initial stock and its adjustments are on hand or sold": {
		"UPDATE product SET on_hand = on_hand - 1",
		"UPDATE stock_adjustment SET change = change + 1",
	},
	"an order has at most one live payment": {payTwice},
	"an order's money is what its status says": {
		"UPDATE orders SET reserved_until = NULL, status = 'paid' WHERE id = " + anOrder,
		"UPDATE orders SET status = 'pending_payment' WHERE status = 'fulfilling'",
		"UPDATE refund SET amount = amount - 1 WHERE full_refund",
	},
	"only an order that waits for payment has a reservation": {"ALTER TABLE orders DROP CONSTRAINT orders_check1; UPDATE orders SET reserved_until = now() WHERE status = 'fulfilling'"},
	"a cancelled order names who cancelled it":               {"ALTER TABLE orders DROP CONSTRAINT orders_check; UPDATE orders SET cancelled_by = NULL"},
	"every change has exactly one event": {
		"DELETE FROM outbox WHERE type = 'order.paid'",
		`UPDATE outbox SET data = jsonb_set(data, '{version}', '1') WHERE type = 'order.paid'`,
		"UPDATE outbox SET type = 'payment.failed' WHERE type = 'payment.captured'",
		"DELETE FROM outbox WHERE type = 'refund.succeeded'",
		"DELETE FROM outbox WHERE type = 'balance.credit'",
		"DELETE FROM outbox WHERE type = 'product.stock_adjusted'",
		`INSERT INTO dispute (external_id, payment_id, order_id, amount, currency, reason, status, created_at)
		SELECT 'dp_1', id, order_id, 1, 'RUB', 'fraudulent', 'won', now() FROM payment LIMIT 1`,
	},
	"every event has a change": {"INSERT INTO outbox (type, aggregate, data, created_at) VALUES ('order.paid', 'order/0', '{}', now())"},
	"a dispute begins with an event, and each event says other than the one before": {
		`INSERT INTO outbox (type, aggregate, data, created_at) VALUES ('payment.disputed', 'payment/0', '{"dispute": {"id": "dp_0"}}', now())`,
		newDispute + "VALUES ('payment.dispute_won', 'payment/0', '{\"dispute\": {\"id\": \"dp_0\"}}', now())",
		newDispute + `SELECT 'payment.disputed', 'payment/0', '{"dispute": {"id": "dp_0"}}', now() FROM generate_series(1, 2)`,
	},
	"the audit log is what administrators did": {
		"DELETE FROM audit_log WHERE action = 'RefundPayment'",
		"UPDATE stock_adjustment SET created_by = 'root'",
		"INSERT INTO audit_log (actor, at, action, resource) VALUES ('root', now(), 'CancelOrder', 'order/1')",
		"UPDATE audit_log SET metadata = '{\"status\": \"shipped\"}' WHERE action = 'UpdateOrderStatus'",
	},
	"no failure is stored under a key": {"UPDATE idempotency_record SET status = 503"},
	"every stored success has its effect": {
		"UPDATE orders SET idempotency_key = 'another' WHERE id = " + anOrder,
		"UPDATE refund SET idempotency_key = 'another' WHERE NOT full_refund",
		"UPDATE stock_adjustment SET idempotency_key = 'another'",
		"UPDATE ledger_entry SET idempotency_key = 'another-' || id WHERE kind = 'credit'",
		"UPDATE payment SET idempotency_key = 'another'",
		"UPDATE orders SET cancel_key = 'another' WHERE cancel_key IS NOT NULL",
		"UPDATE idempotency_record SET operation = 'mystery'",
	},
}

// A check that finds nothing wrong proves nothing unless it finds damage.
func TestCheck_FindsDamage(t *testing.T) {
	t.Parallel()
	stock := e2e.Stock{"tea": 100}
	s := prepareForDamage(t, stock)
	for _, name := range invariants.Names() {
		if len(damages[name]) == 0 {
			t.Errorf("no damage proves that this is checked: %s", name)
		}
		for _, damage := range damages[name] {
			found := violationsAfter(t, s.DB, damage, stock)
			if !slices.ContainsFunc(found, func(v string) bool { return strings.HasPrefix(v, name+", but") }) {
				t.Errorf("after %s found %v, want: %s", damage, found, name)
			}
		}
	}
}

// prepareForDamage has everything in the database that can be damaged. Nothing is, yet.
func prepareForDamage(t *testing.T, stock e2e.Stock) *e2e.Service {
	t.Helper()
	s := e2e.Start(t)
	s.PutProduct(t, "tea", stock["tea"])
	s.AdjustStock(t, "tea", 5)
	s.MustCreateOrder(t, e2e.Alice, "tea", 1)
	s.MustCreateOrderIn(t, "cancelled", e2e.Alice, "tea")
	paid := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 3)
	e2e.Want[e2e.Refund](t, s, 200, s.RefundCall(s.AdminToken(t), paid.ID, "50.00"))
	returned := s.MustCreatePaidOrder(t, e2e.Alice, "tea", 1)
	e2e.Want[e2e.Refund](t, s, 200, s.RefundCall(s.CustomerToken(t), returned.ID, ""))
	e2e.Want[e2e.Order](t, s, 200, e2e.StatusCall(s.AdminToken(t), paid.ID, "fulfilling"))
	invariants.Check(t, s.DB, stock)
	return s
}

// violationsAfter returns the violations that SQL statements cause, and rolls them
// back.
func violationsAfter(t *testing.T, db *pgxpool.Pool, sql string, stock e2e.Stock) []string {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // the damage is rolled back in any case
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	found, err := invariants.Violations(t.Context(), tx, stock)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMain(m *testing.M) { pgtest.Main(m) }
