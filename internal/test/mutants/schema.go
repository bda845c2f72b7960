package main

const (
	schema      = "./migrations"
	constraints = "TestConstraints_RefuseWhatTheCoreNeverWrites"
)

// schemaMutants are the constraints and unique indexes: the last word about what the core
// should never have written.
var schemaMutants = []mutant{
	{"UNIQUE: one operation, one order", "migrations/0002_orders.up.sql", "UNIQUE (customer_id, created_by, idempotency_key)", "UNIQUE (id, created_by, idempotency_key)", schema, constraints},
	{"UNIQUE: one operation, one payment", "migrations/0003_payments.up.sql", "UNIQUE (order_id, idempotency_key)", "UNIQUE (id, idempotency_key)", schema, constraints},
	{"UNIQUE: one operation, one refund", "migrations/0003_payments.up.sql", "UNIQUE (payment_id, created_by, idempotency_key)", "UNIQUE (id, created_by, idempotency_key)", schema, constraints},
	{"UNIQUE: one operation, one change of a balance", "migrations/0003_payments.up.sql", "UNIQUE (customer_id, created_by, idempotency_key)", "UNIQUE (id, created_by, idempotency_key)", schema, constraints},
	{"UNIQUE: one operation, one adjustment", "migrations/0011_stock_adjustments.up.sql", "UNIQUE (sku, created_by, idempotency_key)", "UNIQUE (id, created_by, idempotency_key)", schema, constraints},
	{"PRIMARY KEY: one operation, one extension", "migrations/0002_orders.up.sql", "PRIMARY KEY (order_id, created_by, idempotency_key)", "CHECK (true)", schema, constraints},
	{"PRIMARY KEY: one record for a key", "migrations/0001_idempotency.up.sql", "PRIMARY KEY (scope, key)", "CHECK (true)", schema, constraints},
	{"PRIMARY KEY: one effect for a message", "migrations/0005_messages.up.sql", "PRIMARY KEY (source, message_id)", "CHECK (true)", schema, constraints},
	{"UNIQUE: one charge, one payment", "migrations/0003_payments.up.sql", "UNIQUE (provider, external_payment_id)", "CHECK (true)", schema, constraints},
	{"UNIQUE: one live payment for an order", "migrations/0003_payments.up.sql", "CREATE UNIQUE INDEX payment_one_live", "CREATE INDEX payment_one_live", schema, constraints},
	{"UNIQUE: one refund of the provider, one refund", "migrations/0003_payments.up.sql", "external_refund_id text          UNIQUE,", "external_refund_id text,", schema, constraints},
	{"UNIQUE: one name of a payment at the provider", "migrations/0008_provider_names.up.sql", "ALTER TABLE payment ADD COLUMN uuid uuid NOT NULL UNIQUE", "ALTER TABLE payment ADD COLUMN uuid uuid NOT NULL", schema, constraints},
	{"UNIQUE: one name of a refund at the provider", "migrations/0008_provider_names.up.sql", "ALTER TABLE refund ADD COLUMN uuid uuid NOT NULL UNIQUE", "ALTER TABLE refund ADD COLUMN uuid uuid NOT NULL", schema, constraints},
	{"UNIQUE: one name of an event", "migrations/0009_event_names.up.sql", "DEFAULT gen_random_uuid() UNIQUE;", "DEFAULT gen_random_uuid();", schema, constraints},
	{"UNIQUE: one order of a reference", "migrations/0019_references_of_creators.up.sql", "CREATE UNIQUE INDEX CONCURRENTLY", "CREATE INDEX CONCURRENTLY", schema, constraints},
	{"UNIQUE: one entry of a reference", "migrations/0012_references.up.sql", "CREATE UNIQUE INDEX ledger_entry_reference", "CREATE INDEX ledger_entry_reference", schema, constraints},
	{"UNIQUE: one entry in a place", "migrations/0014_ledger_positions.up.sql", "CREATE UNIQUE INDEX ledger_entry_position", "CREATE INDEX ledger_entry_position", schema, constraints},
	{"UNIQUE: one line of a SKU in an order", "migrations/0002_orders.up.sql", "UNIQUE (order_id, sku)", "CHECK (true)", schema, constraints},
	{"CHECK: a balance is not negative", "migrations/0003_payments.up.sql", "CHECK (amount >= 0)", "", schema, constraints},
	{"CHECK: no balance was negative", "migrations/0003_payments.up.sql", "CHECK (balance_after >= 0)", "", schema, constraints},
	{"CHECK: an entry has two sides", "migrations/0003_payments.up.sql", "CHECK (debit <> credit)", "CHECK (true)", schema, constraints},
	{"CHECK: an entry of a balance says what it became", "migrations/0003_payments.up.sql", "CHECK ((customer_id IS NULL) = (balance_after IS NULL))", "CHECK (true)", schema, constraints},
	{"CHECK: a key has an actor", "migrations/0003_payments.up.sql", "CHECK ((idempotency_key IS NULL) = (created_by IS NULL))", "CHECK (true)", schema, constraints},
	{"CHECK: an entry has a known kind", "migrations/0003_payments.up.sql", "CHECK (kind IN ('credit', 'charge', 'payment', 'refund'))", "", schema, constraints},
	{"CHECK: a payment has a known status", "migrations/0003_payments.up.sql", "CHECK (status IN ('processing', 'captured', 'failed'))", "", schema, constraints},
	{"CHECK: a refund has a known status", "migrations/0003_payments.up.sql", "CHECK (status IN ('pending', 'succeeded', 'failed'))", "", schema, constraints},
	{"CHECK: a payment by card has a token", "migrations/0003_payments.up.sql", "CHECK ((method = 'card') = (card_token IS NOT NULL))", "CHECK (true)", schema, constraints},
	{"CHECK: a payment by card has a provider", "migrations/0003_payments.up.sql", "CHECK ((method = 'card') = (provider IS NOT NULL))", "CHECK (true)", schema, constraints},
	{"CHECK: stock is not negative", "migrations/0002_orders.up.sql", "CHECK (on_hand >= 0)", "", schema, constraints},
	{"CHECK: reserved stock is not negative", "migrations/0002_orders.up.sql", "CHECK (reserved >= 0)", "", schema, constraints},
	{"CHECK: no unit is reserved twice", "migrations/0002_orders.up.sql", "CHECK (reserved <= on_hand)", "CHECK (true)", schema, constraints},
	{"CHECK: an order has a total", "migrations/0002_orders.up.sql", "CHECK (total > 0)", "", schema, constraints},
	{"CHECK: a line has a quantity", "migrations/0002_orders.up.sql", "CHECK (quantity > 0)", "", schema, constraints},
	{"CHECK: a line has a price", "migrations/0002_orders.up.sql", "CHECK (unit_price > 0)", "", schema, constraints},
	{"CHECK: a product has a price", "migrations/0002_orders.up.sql", "CHECK (price > 0)", "", schema, constraints},
	{"CHECK: a cancelled order says who cancelled", "migrations/0002_orders.up.sql", "CHECK ((status = 'cancelled') = (cancelled_by IS NOT NULL))", "CHECK (true)", schema, constraints},
	{"CHECK: stock is reserved only until payment", "migrations/0002_orders.up.sql", "CHECK (reserved_until IS NULL OR status IN ('pending_payment', 'payment_processing'))", "CHECK (true)", schema, constraints},
	{"CHECK: a version is positive", "migrations/0002_orders.up.sql", "CHECK (version > 0)", "", schema, constraints},
	{"CHECK: an adjustment changes something", "migrations/0011_stock_adjustments.up.sql", "CHECK (change <> 0)", "", schema, constraints},
}
