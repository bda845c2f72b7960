package migrations_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/migrations"
)

// validRows are one row of each table. They violate nothing.
var validRows = []string{
	`INSERT INTO product (sku, seller_id, name, price, currency, on_hand, created_at, updated_at)
		VALUES ('tea', 'shop', 'Tea', 1, 'RUB', 10, now(), now())`,
	`INSERT INTO orders (id, customer_id, seller_id, status, total, currency, version, created_by, idempotency_key, reference, created_at, updated_at)
		OVERRIDING SYSTEM VALUE VALUES (1, 'ann', 'shop', 'paid', 1, 'RUB', 1, 'ann', 'key', 'A-1', now(), now())`,
	`INSERT INTO order_item VALUES (1, 1, 'tea', 1, 1)`,
	`INSERT INTO reservation_extension VALUES (1, 'ann', 'key', now(), now())`,
	`INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status, created_by, provider, external_payment_id, card_token)
		OVERRIDING SYSTEM VALUE VALUES (1, 1, 'key', 1, 'RUB', 'card', 'captured', 'ann', 'stripe', 'pi_1', 'pm_card')`,
	`INSERT INTO refund (id, payment_id, order_id, idempotency_key, amount, currency, status, full_refund, external_refund_id, reference, created_by)
		OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'key', 1, 'RUB', 'succeeded', true, 're_1', 'A-1', 'ann')`,
	`INSERT INTO dispute (external_id, payment_id, order_id, amount, currency, reason, status, created_at)
		VALUES ('dp_1', 1, 1, 1, 'RUB', 'general', 'won', now())`,
	`INSERT INTO balance VALUES ('ann', 'RUB', 1, 1)`,
	`INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, customer_id, balance_after, position, reference, created_by, idempotency_key, created_at)
		OVERRIDING SYSTEM VALUE VALUES (1, 'credit', 'world', 'customer/ann', 1, 'RUB', 'ann', 1, 1, 'A-1', 'bank', 'key', now())`,
	`INSERT INTO stock_adjustment (id, sku, change, on_hand, reference, created_by, idempotency_key, created_at)
		OVERRIDING SYSTEM VALUE VALUES (1, 'tea', 10, 10, 'A-1', 'shop', 'key', now())`,
	`INSERT INTO outbox (type, aggregate, data, created_at) VALUES ('order.paid', 'order/1', '{}', now())`,
	`INSERT INTO processed_message VALUES ('stripe', 'evt_1', now())`,
	`INSERT INTO idempotency_record VALUES ('issuer ann', 'key', '', 'createOrder', 201, '', '', '', now(), now())`,
	`INSERT INTO customer_profile VALUES ('ann', 'Ann', 'ann@example.com', '+1', now())`,
	`INSERT INTO audit_log (actor, at, action, resource) VALUES ('root', now(), 'GetOrderById', 'order/1')`,
	`INSERT INTO webhook_endpoint (owner, url, event_types, description, ordered, secret, created_at, updated_at)
		VALUES ('shop', 'https://shop.example', '{*}', '', false, 'whsec_1', now(), now())`,
	`INSERT INTO webhook_delivery (endpoint_id, event_id, event_type, aggregate, position, body, next_attempt_at, event_at)
		VALUES (1, '0190aaaa-0000-7000-8000-000000000001', 'order.paid', 'order/1', 1, '{}', now(), now())`,
}

// second returns a statement that inserts a copy of a table's row, with some columns
// changed.
func second(table, changes string) string {
	return "INSERT INTO " + table + " OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(old, '" + changes + "')).* FROM " + table + " old"
}

const otherUUID = `"0190aaaa-0000-7000-8000-000000000000"`

// violations has a statement for each constraint and each unique index. The core decides
// before that none of them is executed; the database has the last word.
var violations = map[string]string{
	// One operation, one effect, for ever (AUTH-19).
	"orders_customer_id_created_by_idempotency_key_key":       second("orders", `{"id": 9, "reference": ""}`),
	"reservation_extension_pkey":                              second("reservation_extension", `{}`),
	"payment_order_id_idempotency_key_key":                    second("payment", `{"id": 9, "uuid": `+otherUUID+`, "status": "failed", "external_payment_id": "pi_2"}`),
	"refund_payment_id_created_by_idempotency_key_key":        second("refund", `{"id": 9, "uuid": `+otherUUID+`, "external_refund_id": "re_2", "reference": ""}`),
	"ledger_entry_customer_id_created_by_idempotency_key_key": second("ledger_entry", `{"id": 9, "reference": "", "position": 2}`),
	"stock_adjustment_sku_created_by_idempotency_key_key":     second("stock_adjustment", `{"id": 9, "reference": ""}`),
	"idempotency_record_pkey":                                 second("idempotency_record", `{}`),
	"processed_message_pkey":                                  second("processed_message", `{}`),

	// One intent, one order, refund, change of a balance, or adjustment of stock.
	"orders_creator_reference":   second("orders", `{"id": 9, "idempotency_key": "other"}`),
	"orders_reference_check":     `UPDATE orders SET reference = repeat('A', 65)`,
	"ledger_entry_reference":     second("ledger_entry", `{"id": 9, "idempotency_key": "other", "position": 2}`),
	"refund_reference":           second("refund", `{"id": 9, "uuid": `+otherUUID+`, "idempotency_key": "other", "external_refund_id": "re_2"}`),
	"stock_adjustment_reference": second("stock_adjustment", `{"id": 9, "idempotency_key": "other"}`),

	// A refund made at the provider is not made again, by no version.
	"refund_made_at_provider_check": `UPDATE refund SET made_at_provider = true, asked_at = now()`,

	// One live payment for an order, and one charge for a payment (R-DIST-IDEM-4).
	"payment_one_live":                         second("payment", `{"id": 9, "uuid": `+otherUUID+`, "idempotency_key": "other", "external_payment_id": "pi_2"}`),
	"payment_provider_external_payment_id_key": second("payment", `{"id": 9, "uuid": `+otherUUID+`, "idempotency_key": "other", "status": "failed"}`),
	"payment_uuid_key":                         second("payment", `{"id": 9, "idempotency_key": "other", "status": "failed", "external_payment_id": "pi_2"}`),
	"refund_external_refund_id_key":            second("refund", `{"id": 9, "uuid": `+otherUUID+`, "idempotency_key": "other", "reference": ""}`),
	"refund_uuid_key":                          second("refund", `{"id": 9, "idempotency_key": "other", "external_refund_id": "re_2", "reference": ""}`),
	"dispute_pkey":                             second("dispute", `{}`),
	"dispute_status_check":                     `UPDATE dispute SET status = 'settled'`,
	"ledger_entry_transaction": `INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency, reference, created_at)
		OVERRIDING SYSTEM VALUE SELECT 8 + n, 'dispute', 'disputes', 'provider', n, 'RUB', 'txn_1', now() FROM generate_series(1, 2) n`,
	"payment_check":          `UPDATE payment SET card_token = NULL`,
	"payment_check1":         `UPDATE payment SET provider = NULL`,
	"payment_provider_check": `UPDATE payment SET provider = 'other'`,
	"payment_method_check":   `UPDATE payment SET method = 'cash', card_token = NULL, provider = NULL`,
	"payment_status_check":   `UPDATE payment SET status = 'lost'`,
	"refund_status_check":    `UPDATE refund SET status = 'lost'`,

	// Money is never negative, and both sides of an entry differ.
	"balance_amount_check":             `UPDATE balance SET amount = -1`,
	"payment_amount_check":             `UPDATE payment SET amount = 0`,
	"refund_amount_check":              `UPDATE refund SET amount = 0`,
	"dispute_amount_check":             `UPDATE dispute SET amount = 0`,
	"ledger_entry_amount_check":        `UPDATE ledger_entry SET amount = 0`,
	"ledger_entry_balance_after_check": `UPDATE ledger_entry SET balance_after = -1`,
	"ledger_entry_check":               `UPDATE ledger_entry SET debit = credit`,
	"ledger_entry_check1":              `UPDATE ledger_entry SET balance_after = NULL`,
	"ledger_entry_check2":              `UPDATE ledger_entry SET created_by = NULL`,
	"ledger_entry_kind_check":          `UPDATE ledger_entry SET kind = 'gift'`,
	"ledger_entry_position":            second("ledger_entry", `{"id": 9, "idempotency_key": "other", "reference": ""}`),
	"ledger_entry_position_check":      `UPDATE ledger_entry SET position = -1`,
	"balance_position_check":           `UPDATE balance SET position = -1`,
	"orders_total_check":               `UPDATE orders SET total = 0`,
	"order_item_unit_price_check":      `UPDATE order_item SET unit_price = 0`,
	"product_price_check":              `UPDATE product SET price = 0`,

	// NaN is greater than any number.
	"orders_total_is_number":               `UPDATE orders SET total = 'NaN'`,
	"order_item_unit_price_is_number":      `UPDATE order_item SET unit_price = 'NaN'`,
	"payment_amount_is_number":             `UPDATE payment SET amount = 'NaN'`,
	"refund_amount_is_number":              `UPDATE refund SET amount = 'NaN'`,
	"product_price_is_number":              `UPDATE product SET price = 'NaN'`,
	"balance_amount_is_number":             `UPDATE balance SET amount = 'NaN'`,
	"ledger_entry_amount_is_number":        `UPDATE ledger_entry SET amount = 'NaN'`,
	"ledger_entry_balance_after_is_number": `UPDATE ledger_entry SET balance_after = 'NaN'`,

	"balance_currency_check":      `UPDATE balance SET currency = 'rub'`,
	"ledger_entry_currency_check": `UPDATE ledger_entry SET currency = 'RUBLE'`,
	"orders_currency_check":       `UPDATE orders SET currency = ''`,
	"payment_currency_check":      `UPDATE payment SET currency = 'RU'`,
	"product_currency_check":      `UPDATE product SET currency = 'R1B'`,
	"refund_currency_check":       `UPDATE refund SET currency = 'RUB '`,
	"dispute_currency_check":      `UPDATE dispute SET currency = 'rub'`,

	// Stock is never negative, and no unit is reserved twice.
	"product_on_hand_check":          `UPDATE product SET on_hand = -1, reserved = -1`,
	"product_reserved_check":         `UPDATE product SET reserved = -1`,
	"product_check":                  `UPDATE product SET reserved = 11`,
	"product_sku_check":              `UPDATE product SET sku = 'green tea'`,
	"product_version_check":          `UPDATE product SET version = 0`,
	"order_item_quantity_check":      `UPDATE order_item SET quantity = 0`,
	"order_item_order_id_sku_key":    second("order_item", `{"line": 2}`),
	"stock_adjustment_change_check":  `UPDATE stock_adjustment SET change = 0`,
	"stock_adjustment_on_hand_check": `UPDATE stock_adjustment SET on_hand = -1`,

	// The life of an order.
	"orders_status_check":  `UPDATE orders SET status = 'lost'`,
	"orders_check":         `UPDATE orders SET status = 'cancelled'`,
	"orders_check1":        `UPDATE orders SET reserved_until = now()`,
	"orders_version_check": `UPDATE orders SET version = 0`,

	// Nothing refers to what does not exist.
	"order_item_order_id_fkey":            second("order_item", `{"order_id": 9}`),
	"reservation_extension_order_id_fkey": second("reservation_extension", `{"order_id": 9}`),
	"payment_order_id_fkey":               `UPDATE payment SET order_id = 9`,
	"refund_order_id_fkey":                `UPDATE refund SET order_id = 9`,
	"dispute_order_id_fkey":               `UPDATE dispute SET order_id = 9`,
	"dispute_payment_id_fkey":             `UPDATE dispute SET payment_id = 9`,
	"refund_payment_id_fkey":              `UPDATE refund SET payment_id = 9`,
	"ledger_entry_payment_id_fkey":        `UPDATE ledger_entry SET payment_id = 9`,
	"ledger_entry_refund_id_fkey":         `UPDATE ledger_entry SET refund_id = 9`,
	"stock_adjustment_sku_fkey":           `UPDATE stock_adjustment SET sku = 'cup'`,

	// One endpoint for a URL, and one delivery of an event to it.
	"webhook_endpoint_owner_url_key":            second("webhook_endpoint", `{"id": 9}`),
	"webhook_endpoint_event_types_check":        `UPDATE webhook_endpoint SET event_types = '{}'`,
	"webhook_endpoint_previous_check":           `UPDATE webhook_endpoint SET previous_secret = 'whsec_0'`,
	"webhook_endpoint_disabled_check":           `UPDATE webhook_endpoint SET disabled_at = now()`,
	"webhook_delivery_endpoint_id_event_id_key": second("webhook_delivery", `{"id": 9}`),
	"webhook_delivery_endpoint_id_fkey":         second("webhook_delivery", `{"id": 9, "endpoint_id": 9}`),
	"webhook_delivery_status_check":             `UPDATE webhook_delivery SET status = 'lost', next_attempt_at = NULL, finished_at = now()`,
	"webhook_delivery_attempts_check":           `UPDATE webhook_delivery SET attempts = -1`,
	"webhook_delivery_pending_check":            `UPDATE webhook_delivery SET next_attempt_at = NULL`,
	"webhook_delivery_finished_check":           `UPDATE webhook_delivery SET finished_at = now()`,

	// Every id names one row, and some tables have one row only.
	"product_pkey":                   second("product", `{}`),
	"orders_pkey":                    second("orders", `{"idempotency_key": "other", "reference": ""}`),
	"order_item_pkey":                second("order_item", `{"sku": "cup"}`),
	"payment_pkey":                   second("payment", `{"uuid": `+otherUUID+`, "idempotency_key": "other", "status": "failed", "external_payment_id": "pi_2"}`),
	"refund_pkey":                    second("refund", `{"uuid": `+otherUUID+`, "idempotency_key": "other", "external_refund_id": "re_2", "reference": ""}`),
	"balance_pkey":                   second("balance", `{}`),
	"ledger_entry_pkey":              second("ledger_entry", `{"idempotency_key": "other", "reference": "", "position": 2}`),
	"stock_adjustment_pkey":          second("stock_adjustment", `{"idempotency_key": "other", "reference": ""}`),
	"customer_profile_pkey":          second("customer_profile", `{}`),
	"audit_log_pkey":                 second("audit_log", `{}`),
	"outbox_pkey":                    second("outbox", `{"event_id": `+otherUUID+`}`),
	"outbox_event_id_key":            second("outbox", `{"id": 9}`),
	"outbox_schema_version_check":    `UPDATE outbox SET schema_version = 0`,
	"relay_lease_pkey":               second("relay_lease", `{}`),
	"relay_lease_singleton_check":    `UPDATE relay_lease SET singleton = false`,
	"webhook_endpoint_pkey":          second("webhook_endpoint", `{"url": "https://shop.example/other"}`),
	"webhook_delivery_pkey":          second("webhook_delivery", `{"event_id": `+otherUUID+`}`),
	"message_memory_pkey":            second("message_memory", `{}`),
	"message_memory_singleton_check": `UPDATE message_memory SET singleton = false`,
	"incarnation_pkey":               second("incarnation", `{}`),
	"incarnation_singleton_check":    `UPDATE incarnation SET singleton = false`,
	"reconciliation_pkey":            second("reconciliation", `{}`),
	"reconciliation_singleton_check": `UPDATE reconciliation SET singleton = false`,
}

func TestConstraints_RefuseWhatTheCoreNeverWrites(t *testing.T) {
	t.Parallel()
	conn := connectWithRows(t)
	for constraint, statement := range violations {
		_, err := conn.Exec(t.Context(), statement) // alone in its transaction
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || refused.ConstraintName != constraint {
			t.Errorf("%s: %v; want a violation of %s", statement, err, constraint)
		}
	}
}

// The columns are asked for, so that a new one counts as well.
func TestConstraints_RefuseAmountsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	conn := connectWithRows(t)
	rows, err := conn.Query(t.Context(), `SELECT ARRAY[table_name, column_name]::text[]
		FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'numeric'`)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[[]string])
	if err != nil || len(columns) == 0 {
		t.Fatalf("columns %v, %v", columns, err)
	}
	for _, c := range columns {
		for _, value := range []string{"NaN", "Infinity", "-Infinity"} {
			_, err := conn.Exec(t.Context(), fmt.Sprintf("UPDATE %s SET %s = '%s'", c[0], c[1], value))
			refused, ok := errors.AsType[*pgconn.PgError](err)
			if !ok || refused.Code != "23514" && refused.Code != "22003" { // check_violation, numeric_value_out_of_range
				t.Errorf("%s.%s = %s: %v; want it refused", c[0], c[1], value, err)
			}
		}
	}
}

// A new constraint needs a statement that shows what it is for.
func TestConstraints_AllHaveAViolation(t *testing.T) {
	t.Parallel()
	conn := connectWithRows(t)
	rows, err := conn.Query(t.Context(), `
		SELECT conname::text FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'p', 'u', 'x')
		UNION SELECT indexname::text FROM pg_indexes WHERE schemaname = 'public' AND indexdef LIKE 'CREATE UNIQUE INDEX %'`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, found := violations[name]; !found && name != "schema_migrations_pkey" { // of golang-migrate
			t.Errorf("no statement violates %s", name)
		}
	}
}

// A row that is no number already must not stop an upgrade.
func TestUp_ValidatesTheAmountsThatAreNumbers(t *testing.T) {
	t.Parallel()
	const unvalidated = "SELECT count(*) FROM pg_constraint WHERE NOT convalidated"
	url := pgtest.New(t)
	downTo(t, url, 29)
	execute(t, url, `INSERT INTO balance VALUES ('ann', 'RUB', 'NaN', 1), ('bob', 'RUB', 1, 1)`)

	if err := migrations.Up(t.Context(), url); err != nil {
		t.Fatal(err)
	}

	wantVersion(t, url, newest(t))
	if n := count(t, url, unvalidated); n != 1 {
		t.Errorf("%d constraints are not validated, want that of balances only", n)
	}
	execute(t, url, `UPDATE balance SET amount = 2 WHERE customer_id = 'ann'`)
	execute(t, url, `ALTER TABLE balance VALIDATE CONSTRAINT balance_amount_is_number`)
	if n := count(t, url, unvalidated); n != 0 {
		t.Errorf("%d constraints are not validated after the row was repaired", n)
	}
}

// connectWithRows returns a connection to a database with a row in each table.
func connectWithRows(t *testing.T) *pgx.Conn {
	t.Helper()
	url := pgtest.New(t)
	execute(t, url, validRows...)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}
