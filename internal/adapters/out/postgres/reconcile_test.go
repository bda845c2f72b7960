package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/payment/cards"
	"example.com/orders/internal/core/payment/reconcile"
)

// healthyShop fills the tables with rows that agree: 19 customers with 3
// entries each, "hot" with 51; paid orders, and a product with their reservations.
var healthyShop = []string{
	`SET session_replication_role = replica`, // no foreign keys are checked
	`INSERT INTO product (sku, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at)
	 SELECT 'sku-' || i, 'shop', 'Tea', 1, 'RUB', 100, CASE WHEN i <= 10 THEN 3 ELSE 0 END, now(), now() FROM generate_series(1, 20) i`,
	`INSERT INTO orders (id, customer_id, seller_id, status, total, currency, reserved_until, version, created_by, idempotency_key, cancelled_by, created_at, updated_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, 'alice', 'shop', (ARRAY['delivered', 'cancelled', 'pending_payment', 'payment_processing'])[1 + i / 10], 5, 'RUB',
	        CASE WHEN i >= 20 THEN now() END, 1, 'alice', 'key-' || i, CASE WHEN i / 10 = 1 THEN 'admin' END, now() - interval '1 year', now()
	 FROM generate_series(1, 39) i`,
	`INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
	 SELECT i, 1, 'sku-' || (i % 10 + 1), CASE WHEN i < 30 THEN 1 ELSE 2 END, 1 FROM generate_series(1, 39) i`,
	`INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, created_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, i, 'key', 5, 'RUB', 'balance', 'captured', 'alice', now() - interval '1 year' FROM generate_series(1, 19) i`,
	`INSERT INTO refund (id, payment_id, order_id, amount, currency, status, full_refund, created_by)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, i, i, 5, 'RUB', 'succeeded', true, 'alice' FROM generate_series(10, 19) i`,
	`INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, payment_id, created_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT i, 'payment', 'provider', 'seller/shop', 5, 'RUB', i, now() - interval '1 year' FROM generate_series(1, 19) i`,
	`INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, refund_id, created_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT 100 + i, 'refund', 'seller/shop', 'provider', 5, 'RUB', i, now() - interval '1 year' FROM generate_series(10, 19) i`,
	`INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, created_at)
	 OVERRIDING SYSTEM VALUE
	 SELECT 1000 + i, 'credit', CASE WHEN i % 3 = 0 THEN 'customer/' || name ELSE 'world' END,
	        CASE WHEN i % 3 = 0 THEN 'world' ELSE 'customer/' || name END, 1, 'RUB', name, 0, now() - interval '1 hour' - (120 - i) * interval '2 minutes'
	 FROM (SELECT i, CASE WHEN i < 60 THEN 'customer-' || (i / 3) ELSE 'hot' END AS name FROM generate_series(3, 110) i) n`,
	`UPDATE ledger_entry e SET position = n FROM (
		SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY created_at, id) AS n FROM ledger_entry WHERE customer_id IS NOT NULL
	 ) p WHERE p.id = e.id`,
	`INSERT INTO balance (customer_id, currency, amount, position)
	 SELECT customer_id, currency, sum(CASE WHEN credit = 'world' THEN -amount ELSE amount END), max(position)
	 FROM ledger_entry WHERE customer_id IS NOT NULL GROUP BY 1, 2`,
	`RESET session_replication_role`,
}

// reconciliation is a pass over a database in the smallest steps that still advance.
func reconciliation(d *database, report func(payment.Mismatch)) *reconcile.Service {
	return &reconcile.Service{Store: d.DB, Progress: d.DB, Report: report, Now: time.Now}
}

// runPass runs a whole pass in steps of limit rows, calls between before each further
// step, and returns what it finds, by resource.
func runPass(t *testing.T, d *database, limit int, between func()) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	r := reconciliation(d, func(m payment.Mismatch) { found[m.Resource] = append(found[m.Resource], m.Detail) })
	for {
		more, err := r.Step(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		if more == 0 {
			return found
		}
		between()
	}
}

func newHealthyShop(t *testing.T) *database {
	t.Helper()
	d := newDatabase(t)
	d.execute(t, strings.Join(healthyShop, ";\n")) // on one connection
	return d
}

func TestReconciliation_FindsWhatIsPlantedAnywhere(t *testing.T) {
	t.Parallel()
	d := newHealthyShop(t)
	for _, limit := range []int{2, 7, 500} {
		if diff := cmp.Diff(map[string][]string{}, runPass(t, d, limit, func() {})); diff != "" {
			t.Errorf("before anything is planted, in steps of %d rows (-want +got):\n%s", limit, diff)
		}
	}

	d.execute(t,
		`UPDATE payment SET status = 'failed' WHERE id = 3`,
		`DELETE FROM ledger_entry WHERE refund_id = 12`,
		`DELETE FROM refund WHERE id = 12`,
		`UPDATE refund SET amount = 6 WHERE id = 15`,
		`UPDATE refund SET status = 'pending' WHERE id = 16`,
		`DELETE FROM ledger_entry WHERE id = 117`,
		`UPDATE ledger_entry SET debit = 'provider', credit = 'seller/shop' WHERE id = 118`,
		`UPDATE ledger_entry SET amount = 4 WHERE id = 8`,
		`UPDATE orders SET status = 'pending_payment' WHERE id = 1`,
		`UPDATE orders SET total = 6 WHERE id = 2`,
		`DELETE FROM ledger_entry WHERE id = 5`,
		`UPDATE ledger_entry SET payment_id = 7 WHERE id = 6`,
		`UPDATE product SET reserved = 5 WHERE sku = 'sku-20'`,
		`UPDATE orders SET reserved_until = NULL WHERE id = 33`,
		`UPDATE ledger_entry SET amount = 2 WHERE id = 1090`, // of "hot"
		`UPDATE balance SET amount = amount + 1 WHERE customer_id = 'customer-7'`,
		`DELETE FROM balance WHERE customer_id = 'customer-9'`,
		`INSERT INTO balance VALUES ('customer-11', 'EUR', 4), ('nobody', 'RUB', 4)`)
	want := map[string][]string{
		"order/1":             {"pending_payment with a captured payment"},
		"order/2":             {"5.0000 of 6.0000 captured"},
		"order/3":             {"delivered without a captured payment"},
		"order/12":            {"cancelled, and 0 of 5.0000 given back"},
		"payment/5":           {"5.0000 captured, and its entries make 0"},
		"payment/6":           {"5.0000 captured, and its entries make 0"},
		"payment/7":           {"5.0000 captured, and its entries make 10.0000"},
		"payment/8":           {"5.0000 captured, and its entries make 4.0000"},
		"payment/15":          {"5.0000 captured, and 6.0000 refunded", "6.0000 refunded, and its entries make 5.0000"},
		"payment/16":          {"0 refunded, and its entries make 5.0000"},
		"payment/17":          {"5.0000 refunded, and its entries make 0"},
		"payment/18":          {"5.0000 refunded, and its entries make -5.0000"},
		"product/sku-20":      {"5 reserved, and its reservations make 0"},
		"product/sku-4":       {"3 reserved, and its reservations make 1"},
		"balance/hot":         {"17.0000 RUB, and its entries make 16.0000"},
		"balance/customer-7":  {"2.0000 RUB, and its entries make 1.0000"},
		"balance/customer-9":  {"0 RUB, and its entries make 1.0000"},
		"balance/customer-11": {"4.0000 EUR, and its entries make 0"},
		"balance/nobody":      {"4.0000 RUB, and its entries make 0"},
	}
	for _, limit := range []int{2, 7, 500} {
		if diff := cmp.Diff(want, runPass(t, d, limit, func() {})); diff != "" {
			t.Errorf("in steps of %d rows (-want +got):\n%s", limit, diff)
		}
	}
}

// acceptNaN makes tables as they were when rows older than the constraints were written.
const acceptNaN = `DO $$ DECLARE t text; c text; BEGIN
	FOR t, c IN SELECT conrelid::regclass, conname FROM pg_constraint WHERE conname LIKE '%_is_number'
	LOOP EXECUTE 'ALTER TABLE ' || t || ' DROP CONSTRAINT ' || c; END LOOP; END $$`

// Rows may be older than the constraints.
func TestReconciliation_NamesAmountsThatAreNoNumbersAndGoesOn(t *testing.T) {
	t.Parallel()
	d := newHealthyShop(t)
	d.execute(t, acceptNaN,
		`UPDATE orders SET total = 'NaN' WHERE id = 1`,
		`UPDATE payment SET amount = 'NaN' WHERE id = 1`,
		`UPDATE ledger_entry SET amount = 'NaN' WHERE payment_id = 1`, // so that all three agree
		`UPDATE order_item SET unit_price = 'NaN' WHERE order_id = 2`,
		`UPDATE refund SET amount = 'NaN', status = 'failed' WHERE id = 10`,
		`UPDATE product SET price = 'NaN' WHERE sku = 'sku-20'`,
		`UPDATE balance SET amount = 'NaN' WHERE customer_id = 'customer-7'`,
		`UPDATE ledger_entry SET amount = 'NaN' WHERE id = 1004`,
		`UPDATE ledger_entry SET balance_after = 'NaN' WHERE id = 1090`, // of "hot"
		`UPDATE product SET reserved = 5 WHERE sku = 'sku-9'`,
		`INSERT INTO balance VALUES ('nobody', 'RUB', 'NaN'), ('somebody', 'RUB', 4)`)
	want := map[string][]string{
		"order/1":            {"its total is NaN"},
		"order/2":            {"the price of an item is NaN"},
		"order/10":           {"cancelled, and 0 of 5.0000 given back"},
		"payment/1":          {"its amount is NaN"},
		"payment/10":         {"the amount is NaN of refund 10", "0 refunded, and its entries make 5.0000"},
		"product/sku-20":     {"its price is NaN"},
		"product/sku-9":      {"5 reserved, and its reservations make 3"},
		"balance/customer-7": {"NaN RUB, and its entries make 1.0000"},
		"balance/customer-1": {"ledger entry 1004 has an amount that is NaN", "1.0000 RUB, and its entries make 0.0000"},
		"balance/hot":        {"ledger entry 1090 has an amount that is NaN"},
		"balance/nobody":     {"NaN RUB, and its entries make 0"},
		"balance/somebody":   {"4.0000 RUB, and its entries make 0"},
	}
	for _, limit := range []int{2, 7, 500} {
		if diff := cmp.Diff(want, runPass(t, d, limit, func() {})); diff != "" {
			t.Errorf("in steps of %d rows (-want +got):\n%s", limit, diff)
		}
	}
}

// An account that changes while its entries are read is no mismatch, even if the change
// belongs to a COMMIT that was in doubt for an hour.
func TestReconciliation_AllowsChangesBetweenItsSteps(t *testing.T) {
	t.Parallel()
	d := newHealthyShop(t)
	id := 5000
	found := runPass(t, d, 2, func() {
		for _, customer := range []string{"hot", "customer-3"} {
			id++
			d.execute(t, fmt.Sprintf(`WITH b AS (UPDATE balance SET amount = amount + 1, position = position + 1 WHERE customer_id = '%s' RETURNING position)
				INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, created_at)
				OVERRIDING SYSTEM VALUE SELECT %d, 'credit', 'world', 'customer/%[1]s', 1, 'RUB', '%[1]s', 0, position, (
					SELECT max(created_at) + interval '1 us' FROM ledger_entry WHERE customer_id = '%[1]s') FROM b`, customer, id))
		}
	})
	if diff := cmp.Diff(map[string][]string{}, found); diff != "" {
		t.Errorf("mismatches (-want +got):\n%s", diff)
	}
}

// wantResult checks what every replica reports.
func wantResult(t *testing.T, d *database, mismatches int64, ran bool) {
	t.Helper()
	got, age, err := open(t, d.url).ReconciliationResult(t.Context())
	if err != nil || got != mismatches || (age >= 0) != ran {
		t.Errorf("%d mismatches, age %v, %v; want %d, complete: %t", got, age, err, mismatches, ran)
	}
}

func TestReconciliation_TellsEveryReplicaItsResult(t *testing.T) {
	t.Parallel()
	d := newHealthyShop(t)
	wantResult(t, d, 0, false)
	d.execute(t, `UPDATE payment SET status = 'failed' WHERE id = 3`)
	var found []payment.Mismatch
	r := reconciliation(d, func(m payment.Mismatch) { found = append(found, m) })
	r.Every = time.Hour
	step := func() int {
		more, err := r.Step(t.Context(), 39)
		if err != nil {
			t.Fatal(err)
		}
		return more
	}

	step()
	wantResult(t, d, 1, false) // a mismatch counts before its pass is complete
	for step() > 0 {
	}
	wantResult(t, d, 1, true)
	step() // no pass is due
	if len(found) != 1 {
		t.Errorf("found %v, want one mismatch, once", found)
	}

	d.execute(t, `UPDATE payment SET status = 'captured' WHERE id = 3`, `UPDATE reconciliation SET finished_at = now() - interval '1 hour'`)
	for step() > 0 {
		wantResult(t, d, 1, true)
	}
	wantResult(t, d, 0, true)
}

func TestSavePass_SavesAStepOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	pass, err := d.LoadPass(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pass.Position, pass.Found = "half way", 2
	for _, want := range []bool{true, false} { // as two replicas that work on the same step
		if saved, err := d.SavePass(t.Context(), pass); err != nil || saved != want {
			t.Errorf("saved = %t, %v; want %t", saved, err, want)
		}
	}
	want := reconcile.Pass{Version: 1, Position: "half way", Found: 2, SinceLast: -time.Second}
	if got, err := d.LoadPass(t.Context()); err != nil || got != want {
		t.Errorf("loaded %+v, %v; want %+v", got, err, want)
	}
}

// cardPayments returns the card payments to compare, with the number of their refunds.
func (d *database) cardPayments(t *testing.T, since time.Time, uuids ...string) map[int64]int {
	t.Helper()
	payments, unreadable, err := d.CardPayments(t.Context(), since, uuids)
	if err != nil || len(unreadable) > 0 {
		t.Fatalf("unreadable: %v, %v", unreadable, err)
	}
	found := map[int64]int{}
	for _, p := range payments {
		found[p.ID] = len(p.Refunds)
	}
	return found
}

func TestCardPayments_ReturnsWhatIsRecentRefundedUndecidedOrNamed(t *testing.T) {
	t.Parallel()
	d := newHealthyShop(t)
	const named, byBalance = "00000000-0000-4000-8000-000000000007", "00000000-0000-4000-8000-000000000018"
	d.execute(t,
		`UPDATE payment SET method = 'card', provider = 'stripe', card_token = 'token' WHERE id <= 15`,
		`UPDATE payment SET created_at = now() WHERE id IN (3, 19)`,
		`UPDATE payment SET status = 'processing' WHERE id = 5`,
		`UPDATE payment SET uuid = '`+named+`' WHERE id = 7`,
		`UPDATE payment SET uuid = '`+byBalance+`' WHERE id = 18`,
		`UPDATE refund SET created_at = now() - interval '10 days'`,
		`UPDATE refund SET created_at = now() WHERE id = 14`,
		`UPDATE refund SET status = 'pending', created_at = now() - interval '1 hour' WHERE id = 12`)

	found := d.cardPayments(t, time.Now().Add(-time.Hour), named, byBalance)

	if diff := cmp.Diff(map[int64]int{3: 0, 5: 0, 7: 0, 12: 1, 14: 1}, found); diff != "" {
		t.Errorf("refunds by payment (-want +got):\n%s", diff)
	}
}

// capturedGateway is a provider that has captured 5.00 for each key, and refunded nothing.
type capturedGateway struct {
	cards.Gateway
	keys []string
}

func (g capturedGateway) Charges(context.Context, time.Time) (found []cards.ProviderCharge, err error) {
	five, err := core.ParseMoney("5.00", "RUB")
	for _, key := range g.keys {
		found = append(found, cards.ProviderCharge{
			Terms: cards.Terms{Payment: key, Amount: five}, ExternalID: "pi_" + key, Captured: true, Received: five,
			Refunded: core.Zero(five.Currency()),
		})
	}
	return found, err
}

func (capturedGateway) Reports(context.Context, cards.ReportQuery) ([]cards.Report, error) {
	return nil, nil
}

// A payment with an unreadable refund is no late capture that has no refund yet.
func TestReconciliation_LeavesOutCardPaymentsThatAreNoNumbersAndGoesOn(t *testing.T) {
	t.Parallel()
	d := newHealthyShop(t)
	d.execute(t, acceptNaN,
		`UPDATE payment SET method = 'card', provider = 'stripe', card_token = 'token', created_at = now() - interval '1 hour' WHERE id IN (1, 2, 3, 13)`,
		`UPDATE payment SET uuid = ('00000000-0000-4000-8000-' || lpad(id::text, 12, '0'))::uuid`,
		`UPDATE payment SET external_payment_id = 'pi_payment-' || uuid WHERE method = 'card'`,
		`UPDATE payment SET amount = 'NaN' WHERE id = 1`,
		`UPDATE ledger_entry SET amount = 'NaN' WHERE payment_id = 1 OR refund_id = 13`,
		`UPDATE orders SET total = 'NaN' WHERE id IN (1, 13)`,
		`UPDATE payment SET status = 'failed' WHERE id = 13`,
		`UPDATE refund SET amount = 'NaN' WHERE id = 13`)
	var gateway capturedGateway
	for _, id := range []int64{1, 2, 13, 19} {
		gateway.keys = append(gateway.keys, (&payment.Payment{UUID: fmt.Sprintf("00000000-0000-4000-8000-%012d", id)}).Key())
	}
	found := map[string][]string{}
	r := reconciliation(d, func(m payment.Mismatch) { found[m.Resource] = append(found[m.Resource], m.Detail) })
	r.Gateway, r.Payments = gateway, &payment.Service{Store: d.Payments()}

	left, err := r.Run(t.Context())

	if want := (reconcile.LeftOut{Unreadable: 2}); err != nil || left != want {
		t.Errorf("left out %+v, %v; want %+v", left, err, want)
	}
	want := map[string][]string{
		"order/1":                      {"its total is NaN"},
		"order/13":                     {"its total is NaN"},
		"payment/1":                    {"its amount is NaN"},
		"payment/13":                   {"the amount is NaN of refund 13", "5.0000 captured, and NaN refunded"},
		"payment/3":                    {"captured here, and 0 times by the provider"},
		"charge/pi_" + gateway.keys[3]: {fmt.Sprintf("captured by the provider for %q, which is unknown here", gateway.keys[3])},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("mismatches (-want +got):\n%s", diff)
	}
}

func TestReconciliation_ComparesOtherPaymentsIfALateCaptureCannotBeReturned(t *testing.T) {
	t.Parallel()
	d := newHealthyShop(t)
	const late = "00000000-0000-4000-8000-000000000003"
	d.execute(t, acceptNaN,
		`UPDATE payment SET method = 'card', provider = 'stripe', card_token = 'token', created_at = now() - interval '1 hour' WHERE id IN (3, 4)`,
		`UPDATE payment SET status = 'failed', uuid = '`+late+`' WHERE id = 3`,
		`UPDATE orders SET total = 'NaN' WHERE id = 3`)
	found := map[string][]string{}
	r := reconciliation(d, func(m payment.Mismatch) { found[m.Resource] = append(found[m.Resource], m.Detail) })
	r.Payments = &payment.Service{Store: d.Payments()}
	r.Gateway = capturedGateway{keys: []string{(&payment.Payment{UUID: late}).Key()}}

	_, err := r.Run(t.Context())

	if err == nil || !strings.Contains(err.Error(), "give back the late capture of payment 3: ") {
		t.Errorf("error %v, want one about payment 3", err)
	}
	want := map[string][]string{
		"order/3":   {"its total is NaN"},
		"payment/3": {"failed here, and captured by the provider"},
		"payment/4": {"captured here, and 0 times by the provider"},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("mismatches (-want +got):\n%s", diff)
	}
}

func TestCardPayments_ReadsAllPages(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	const n = 1001
	d.insertUndecided(t, n)
	want := map[int64]int{}
	for id := range int64(n) {
		want[id+1] = 1
	}
	recent, undecided := d.cardPayments(t, time.Now().Add(-2*time.Hour)), d.cardPayments(t, time.Now())
	for _, found := range []map[int64]int{recent, undecided} {
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("refunds by payment (-want +got):\n%s", diff)
		}
	}
}
