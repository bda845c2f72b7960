package bench

import (
	"fmt"
	"strings"

	pgtest "example.com/orders/internal/test/pg"
)

// growth measures the service on an empty and on a large database.
func (b *bench) growth() {
	empty, large := b.newTargets()
	for _, t := range []*target{empty, large} {
		b.serve(t, t.ServiceURL(b.t), b.pool)
	}
	setup := b.setup(large)
	b.rival = large
	all := b.plan(b.selectCommands(), nil)
	b.measureAll(empty, all)
	size := large.Count(b.t, `SELECT pg_database_size(current_database())`)
	content := fmt.Sprintf("%g million idempotency records and %g million orders, %d MB in all",
		millions(b.scaled(largeRecords)), millions(b.scaled(largeOrders)), size>>20)
	b.publish(growthText(setup, content, all))
}

func millions(n int64) float64 { return float64(n) / 1e6 }

const growthIntroduction = `# Growth

%s
The service ran alternately on an empty and on a large database. The large one holds
%s.
It was filled with durability off and measured with durability on.

All figures are medians. *Large ÷ empty* is the median of the ratios of the rounds. p99
is a latency of the service.

| command | connections | empty, req/s | large, req/s | large ÷ empty | p99 empty, ms | p99 large, ms |
|---|---:|---:|---:|---:|---:|---:|
`

func growthText(setup, content string, all []*series) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, growthIntroduction, setup, content)
	for _, s := range all {
		fmt.Fprintf(out, "| %s | %d | %.0f | %.0f | **%.2f** | %.2f | %.2f |\n",
			s.command.name, s.connections, medianOf(s.service, rateOf), medianOf(s.rival, rateOf),
			medianRatio(s.rival, s.service, rateOf), medianOf(s.service, p99Of), medianOf(s.rival, p99Of))
	}
	return out.String()
}

// The content of the large database at scale 1.
const (
	largeRecords = 10_000_000
	largeOrders  = 1_000_000
	// firstLargeOrder is its first order id. The sequence never reaches it, and the
	// orders prepared for payment have higher ids.
	firstLargeOrder = 100_000_000_000
	// recordsPerInsert is the number of records in one statement.
	recordsPerInsert = 500_000
)

// newTargets creates an empty and a large database.
func (b *bench) newTargets() (empty, large *target) {
	first := pgtest.NewOn(b.t, b.cluster)
	copying := b.cluster.Command(b.t.Context(), "createdb", "--maintenance-db="+b.cluster.URL("postgres"), "--template=orders", "large")
	if out, err := copying.CombinedOutput(); err != nil {
		b.t.Fatalf("createdb: %v: %s", err, out)
	}
	empty, large = b.newTarget(first), b.newTarget(b.cluster.URL("large"))
	b.fillLarge(large)
	return empty, large
}

// undurable are the settings that make it fast to fill a database.
var undurable = []string{"fsync", "full_page_writes", "synchronous_commit", "autovacuum"}

// fillLarge inserts idempotency records and orders, with durability off. The records'
// keys ascend, which fills the index from one end. They span all possible keys, so that
// new keys fall between them.
func (b *bench) fillLarge(t *target) {
	for _, setting := range undurable {
		t.exec(`ALTER SYSTEM SET ` + setting + ` = off`)
	}
	t.exec(`SELECT pg_reload_conf()`)
	records, orders := b.scaled(largeRecords), b.scaled(largeOrders)
	step := (lastKey - firstKey) / records
	for from := int64(0); from < records; from += recordsPerInsert {
		to := min(from+recordsPerInsert, records)
		t.exec(recordsSQL(from, to, step))
		b.t.Logf("inserted %d idempotency records", to)
	}
	t.execUnchecked(paidOrdersSQL(orders)...)
	b.t.Logf("inserted %d orders with items, payments and ledger entries", orders)
	t.exec(`ALTER SYSTEM RESET ALL`, `SELECT pg_reload_conf()`, `VACUUM ANALYZE`, `CHECKPOINT`)
}

func (b *bench) scaled(n int64) int64 { return max(int64(float64(n)*b.scale), 1) }

// recordsSQL inserts idempotency records as left by credits, numbered from to to-1.
// Each has a random key within the step.
func recordsSQL(from, to, step int64) string {
	return fmt.Sprintf(`INSERT INTO idempotency_record (scope, key, fingerprint,
			operation, status, content_type, location, body, created_at, expires_at)
		SELECT '%s', (%d + i * %d + (random() * %d)::bigint)::text,
			sha256(i::text::bytea) || '\x01', 'creditBalance', 201, 'application/json', '',
			convert_to(rpad('{"id":' || i || ',"customer_id":"1"', 220, ' ') || '}', 'UTF8'),
			now(), now() + interval '72 hours' + i * interval '1 microsecond'
		FROM generate_series(%d::bigint, %d) i`,
		scopeOf(bank), firstKey, step, step-1, from, to-1)
}

// paidOrdersSQL inserts n paid orders with their items, payments and ledger entries.
func paidOrdersSQL(n int64) []string {
	from := fmt.Sprintf(`FROM generate_series(%d::bigint, %d) i`,
		firstLargeOrder, firstLargeOrder+n-1)
	customer := fmt.Sprintf(`(i %% %d + 1)::text`, customers)
	return []string{
		`INSERT INTO orders (id, customer_id, seller_id, status, total, currency,
				reserved_until, version, created_by, idempotency_key, created_at, updated_at)
			OVERRIDING SYSTEM VALUE
			SELECT i, ` + customer + `, 'shop', 'paid', 2.00, 'RUB',
				NULL, 2, ` + customer + `, i::text, now(), now() ` + from,
		orderItemsSQL(firstLargeOrder, firstLargeOrder+n),
		`INSERT INTO payment (id, order_id, idempotency_key, amount, currency, method, status,
				created_by, created_at)
			OVERRIDING SYSTEM VALUE
			SELECT i, i, i::text, 2.00, 'RUB', 'balance', 'captured',
				` + customer + `, now() ` + from,
		`INSERT INTO ledger_entry (id, kind, debit, credit, amount, currency,
				customer_id, balance_after, payment_id, created_at)
			OVERRIDING SYSTEM VALUE
			SELECT i, 'payment', 'customer/' || ` + customer + `, 'seller/shop', 2.00, 'RUB',
				` + customer + `, 1000000000, i, now() ` + from,
	}
}
