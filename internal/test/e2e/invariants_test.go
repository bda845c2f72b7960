package e2e

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// damage is a change of the database that contradicts an invariant.
type damage struct{ sql, violates string }

const (
	anOrder  = "(SELECT min(id) FROM orders WHERE status = 'pending_payment')"
	payTwice = `DROP INDEX payment_one_live;
		INSERT INTO payment (order_id, idempotency_key, amount, currency, method, status, created_by)
		SELECT order_id, 'another', amount, currency, method, status, created_by FROM payment`
	chargeItself = `ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_check; UPDATE ledger_entry SET debit = credit`
)

var damages = map[string]damage{
	"a balance was raised":         {"UPDATE balance SET amount = amount + 0.01", balanceIsSum},
	"a balance is missing":         {"DELETE FROM balance", balanceIsSum},
	"a balance is negative":        {"ALTER TABLE balance DROP CONSTRAINT balance_amount_check; UPDATE balance SET amount = -1", balancePositive},
	"an entry took another place":  {"UPDATE ledger_entry SET position = position + 100 WHERE kind = 'payment'", entriesInOrder},
	"an entry is too old":          {"UPDATE ledger_entry SET created_at = '-infinity' WHERE kind = 'payment'", entriesInOrder},
	"an entry has one account":     {chargeItself, entrySides},
	"an entry of somebody else":    {"UPDATE ledger_entry SET customer_id = 'mallory'", entrySides},
	"a refund grew":                {"UPDATE refund SET amount = amount + 1000", refundsWithin},
	"a refund in another currency": {"UPDATE refund SET currency = 'EUR'", refundsWithin},
	"a payment without an entry":   {"UPDATE ledger_entry SET payment_id = NULL WHERE kind = 'payment'", moneyMoved},
	"a refund with a larger entry": {"UPDATE ledger_entry SET amount = amount + 1 WHERE kind = 'refund'", moneyMoved},

	"a unit is reserved for nobody":         {"UPDATE product SET reserved = reserved + 1", reservedIsNeeded},
	"a reservation was released twice":      {"UPDATE product SET reserved = reserved - 1", reservedIsNeeded},
	"a unit is missing":                     {"UPDATE product SET on_hand = on_hand - 1", stockIsConserved},
	"a unit was restocked twice":            {"UPDATE product SET on_hand = on_hand + 1", stockIsConserved},
	"stock was adjusted twice":              {"UPDATE product SET on_hand = on_hand + 5", stockIsConserved},
	"an adjustment had no effect":           {"UPDATE stock_adjustment SET change = change + 1", stockIsConserved},
	"an order was paid twice":               {payTwice, oneLivePayment},
	"an order is paid with nothing":         {"UPDATE orders SET reserved_until = NULL, status = 'paid' WHERE id = " + anOrder, moneyFitsStatus},
	"a paid order waits for payment":        {"UPDATE orders SET status = 'pending_payment' WHERE status = 'fulfilling'", moneyFitsStatus},
	"money is left in a cancelled order":    {"UPDATE refund SET amount = amount - 1 WHERE full_refund", moneyFitsStatus},
	"a reservation outlived its order":      {"ALTER TABLE orders DROP CONSTRAINT orders_check1; UPDATE orders SET reserved_until = now() WHERE status = 'fulfilling'", reservationFits},
	"a cancelled order without a person":    {"ALTER TABLE orders DROP CONSTRAINT orders_check; UPDATE orders SET cancelled_by = NULL", cancelledBy},
	"an event of an order is missing":       {"DELETE FROM outbox WHERE type = 'order.paid'", oneEventPerChange},
	"an event of an order came twice":       {"UPDATE outbox SET data = jsonb_set(data, '{version}', '1') WHERE type = 'order.paid'", oneEventPerChange},
	"the event of a payment is missing":     {"UPDATE outbox SET type = 'payment.failed' WHERE type = 'payment.captured'", oneEventPerChange},
	"the event of a refund is missing":      {"DELETE FROM outbox WHERE type = 'refund.succeeded'", oneEventPerChange},
	"the event of an entry is missing":      {"DELETE FROM outbox WHERE type = 'balance.credit'", oneEventPerChange},
	"the event of an adjustment is missing": {"DELETE FROM outbox WHERE type = 'product.stock_adjusted'", oneEventPerChange},
	"an event of no order":                  {"INSERT INTO outbox (type, aggregate, data, created_at) VALUES ('order.paid', 'order/0', '{}', now())", noOtherEvents},
	"an administrator was not audited":      {"DELETE FROM audit_log WHERE action = 'RefundPayment'", auditIsComplete},
	"an adjustment that was not audited":    {"UPDATE stock_adjustment SET created_by = 'root'", auditIsComplete},
	"an audit entry of what never was":      {"INSERT INTO audit_log (actor, at, action, resource) VALUES ('root', now(), 'CancelOrder', 'order/1')", auditIsComplete},
	"an audit entry of another status":      {"UPDATE audit_log SET metadata = '{\"status\": \"shipped\"}' WHERE action = 'UpdateOrderStatus'", auditIsComplete},
	"a failure was stored":                  {"UPDATE idempotency_record SET status = 503", noStoredFailure},
	"a success without its order":           {"UPDATE orders SET idempotency_key = 'another' WHERE id = " + anOrder, successHasEffect},
	"a success without its refund":          {"UPDATE refund SET idempotency_key = 'another' WHERE NOT full_refund", successHasEffect},
	"a success without its adjustment":      {"UPDATE stock_adjustment SET idempotency_key = 'another'", successHasEffect},
	"a success without its entry":           {"UPDATE ledger_entry SET idempotency_key = 'another-' || id WHERE kind = 'credit'", successHasEffect},
	"a success without its payment":         {"UPDATE payment SET idempotency_key = 'another'", successHasEffect},
	"a success without its cancellation":    {"UPDATE orders SET cancel_key = 'another' WHERE cancel_key IS NOT NULL", successHasEffect},
	"a success of an operation of nobody":   {"UPDATE idempotency_record SET operation = 'mystery'", successHasEffect},
}

// A check that finds nothing wrong proves nothing unless it finds damage.
func TestCheckInvariants_FindsDamage(t *testing.T) {
	t.Parallel()
	stock := Stock{"tea": 100}
	s := prepareForDamage(t, stock)
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			found := violationsAfter(t, s.DB, damage.sql, stock)
			if !slices.ContainsFunc(found, func(v invariant) bool { return v.name == damage.violates }) {
				t.Errorf("not found; found %v", found)
			}
		})
	}
}

func TestCheckInvariants_HasDamageForEveryInvariant(t *testing.T) {
	t.Parallel()
	violated := map[string]bool{}
	for _, damage := range damages {
		violated[damage.violates] = true
	}
	for _, inv := range append(slices.Clone(invariants), invariant{name: stockIsConserved}) {
		if !violated[inv.name] {
			t.Errorf("no damage proves that this is checked: %s", inv.name)
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
func violationsAfter(t *testing.T, db *pgxpool.Pool, sql string, stock Stock) []invariant {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // the damage is rolled back in any case
	if _, err := tx.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	found, err := violationsIn(t.Context(), tx, stock)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
