package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	pgtest "example.com/orders/internal/test/pg"
)

const (
	anOrder  = "(SELECT min(id) FROM orders WHERE status = 'pending_payment')"
	payTwice = `DROP INDEX payment_one_live;
		INSERT INTO payment (order_id, idempotency_key, amount, currency, method, status, created_by)
		SELECT order_id, 'another', amount, currency, method, status, created_by FROM payment`
	chargeItself = `ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_check; UPDATE ledger_entry SET debit = credit`
)

// damages are changes of the database by the invariant that they contradict.
var damages = map[string][]string{
	balanceIsSum:    {"DELETE FROM balance"},
	balancePositive: {"ALTER TABLE balance DROP CONSTRAINT balance_amount_check; UPDATE balance SET amount = -1"},
	entriesInOrder: {
		"UPDATE ledger_entry SET position = position + 100 WHERE kind = 'payment'",
		"UPDATE ledger_entry SET created_at = '-infinity' WHERE kind = 'payment'",
	},
	entrySides: {
		chargeItself,
		"UPDATE ledger_entry SET customer_id = 'mallory'",
	},
	refundsWithin: {
		"UPDATE refund SET amount = amount + 1000",
		"UPDATE refund SET currency = 'EUR'",
	},
	moneyMoved: {
		"UPDATE ledger_entry SET payment_id = NULL WHERE kind = 'payment'",
		"UPDATE ledger_entry SET amount = amount + 1 WHERE kind = 'refund'",
	},
	reservedIsNeeded: {"UPDATE product SET reserved = reserved - 1"},
	stockIsConserved: {
		"UPDATE product SET on_hand = on_hand - 1",
		"UPDATE stock_adjustment SET change = change + 1",
	},
	oneLivePayment: {payTwice},
	moneyFitsStatus: {
		"UPDATE orders SET reserved_until = NULL, status = 'paid' WHERE id = " + anOrder,
		"UPDATE orders SET status = 'pending_payment' WHERE status = 'fulfilling'",
		"UPDATE refund SET amount = amount - 1 WHERE full_refund",
	},
	reservationFits: {"ALTER TABLE orders DROP CONSTRAINT orders_check1; UPDATE orders SET reserved_until = now() WHERE status = 'fulfilling'"},
	cancelledBy:     {"ALTER TABLE orders DROP CONSTRAINT orders_check; UPDATE orders SET cancelled_by = NULL"},
	oneEventPerChange: {
		"DELETE FROM outbox WHERE type = 'order.paid'",
		`UPDATE outbox SET data = jsonb_set(data, '{version}', '1') WHERE type = 'order.paid'`,
		"UPDATE outbox SET type = 'payment.failed' WHERE type = 'payment.captured'",
		"DELETE FROM outbox WHERE type = 'refund.succeeded'",
		"DELETE FROM outbox WHERE type = 'balance.credit'",
		"DELETE FROM outbox WHERE type = 'product.stock_adjusted'",
	},
	noOtherEvents: {"INSERT INTO outbox (type, aggregate, data, created_at) VALUES ('order.paid', 'order/0', '{}', now())"},
	auditIsComplete: {
		"DELETE FROM audit_log WHERE action = 'RefundPayment'",
		"UPDATE stock_adjustment SET created_by = 'root'",
		"INSERT INTO audit_log (actor, at, action, resource) VALUES ('root', now(), 'CancelOrder', 'order/1')",
		"UPDATE audit_log SET metadata = '{\"status\": \"shipped\"}' WHERE action = 'UpdateOrderStatus'",
	},
	noStoredFailure: {"UPDATE idempotency_record SET status = 503"},
	successHasEffect: {
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
func TestCheckInvariants_FindsDamage(t *testing.T) {
	t.Parallel()
	stock := Stock{"tea": 100}
	s := prepareForDamage(t, stock)
	for _, inv := range append(slices.Clone(invariants), invariant{name: stockIsConserved}) {
		if len(damages[inv.name]) == 0 {
			t.Errorf("no damage proves that this is checked: %s", inv.name)
		}
		for _, damage := range damages[inv.name] {
			found := violationsAfter(t, s.DB, damage, stock)
			if !slices.ContainsFunc(found, func(v string) bool { return strings.HasPrefix(v, inv.name+", but") }) {
				t.Errorf("after %s found %v, want: %s", damage, found, inv.name)
			}
		}
	}
}

// prepareForDamage has everything in the database that can be damaged. Nothing is, yet.
func prepareForDamage(t *testing.T, stock Stock) *Service {
	t.Helper()
	s := Start(t)
	s.PutProduct(t, "tea", stock["tea"])
	s.AdjustStock(t, "tea", 5)
	s.MustCreateOrder(t, Alice, "tea", 1)
	s.MustCreateOrderIn(t, "cancelled", Alice, "tea")
	paid := s.MustCreatePaidOrder(t, Alice, "tea", 3)
	Want[Refund](t, s, 200, s.RefundCall(s.AdminToken(t), paid.ID, "50.00"))
	returned := s.MustCreatePaidOrder(t, Alice, "tea", 1)
	Want[Refund](t, s, 200, s.RefundCall(s.CustomerToken(t), returned.ID, ""))
	Want[Order](t, s, 200, StatusCall(s.AdminToken(t), paid.ID, "fulfilling"))
	CheckInvariants(t, s.DB, stock)
	return s
}

// violationsAfter returns the violations that SQL statements cause, and rolls them
// back.
func violationsAfter(t *testing.T, db *pgxpool.Pool, sql string, stock Stock) []string {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // the damage is rolled back in any case
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	found, err := Violations(t.Context(), tx, stock)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestMain(m *testing.M) { pgtest.Main(m) }
