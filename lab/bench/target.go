package bench

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/internal/test/e2e"
)

// The data that requests refer to. Customers and products are numbered from 1. Each
// order has one product from the lower half and one from the upper half.
const (
	customers = 10_000
	buyers    = 1_000 // customers with a token, who order and pay
	products  = 10_000
	stormKeys = 1_000 // keys that the retry storm repeats

	bank = "bank" // the subject that credits balances
	shop = "shop" // the seller
)

// Keys are random numbers with 19 digits, spread over the index as UUIDs would be.
// Replay keys lie above them.
const (
	firstKey, lastKey = 1_000_000_000_000_000_000, 1_999_999_999_999_999_999 // no card number begins with 1
	firstStormKey     = 9_000_000_000_000_000_000
	firstUnseenKey    = 9_100_000_000_000_000_000
)

// firstPending is the first order id prepared for payment. The sequence never reaches
// it.
const firstPending = 1_000_000_000_000

// tokens are signed before the run.
type tokens struct {
	bank   string
	buyers []string // by customer number, from 1
}

func (b *bench) signTokens() {
	b.tokens = tokens{bank: b.token(bank, "system"), buyers: make([]string, buyers+1)}
	for i := 1; i <= buyers; i++ {
		b.tokens.buyers[i] = b.token(strconv.Itoa(i), "customer")
	}
}

func (b *bench) token(subject, role string) string {
	signed, err := b.issuer.Token(subject, []string{role}, 24*time.Hour)
	if err != nil {
		b.t.Fatal(err)
	}
	return signed
}

// target is one database and the service that runs on it. The baseline uses the same
// database.
type target struct {
	*e2e.Env
	t       testing.TB
	cluster *devpostgres.Server
	service *service // nil while it is not running
	bare    *service // the bare server
	replay  string   // a response to the retry storm
	tokens  tokens
	orders  *supply // orders that wait for payment
	unseen  *supply // keys with stored responses that no process has read
}

// newTarget prepares a migrated database: it inserts customers and products.
func (b *bench) newTarget(databaseURL string) *target {
	env := &e2e.Env{DatabaseURL: databaseURL, Issuer: b.issuer, JWKSURL: b.jwksURL}
	env.Connect(b.t)
	t := &target{Env: env, t: b.t, cluster: b.cluster, tokens: b.tokens}
	t.orders = &supply{first: firstPending, perCore: 8_000, fill: t.fillOrders}
	t.unseen = &supply{first: firstUnseenKey, perCore: 35_000, fill: t.fillUnseen}
	t.seed()
	return t
}

// serve starts the service of a target, and stops a running one first. The new process
// answers each request in the retry storm once, so that replays find the responses in
// memory.
func (b *bench) serve(t *target, databaseURL string, pool int) {
	if t.service != nil {
		t.service.stop()
	}
	t.service = b.startService(t, b.binary, databaseURL, pool)
	t.answerStormOnce()
}

// pgbenchClients returns the number of clients of pgbench that are connected.
func (t *target) pgbenchClients() (n int) {
	err := t.DB.QueryRow(t.t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'`).Scan(&n)
	if err != nil {
		t.t.Fatal(err)
	}
	return n
}

// seed inserts customers and products. Balances and stock are too large to run out.
func (t *target) seed() {
	t.exec(
		fmt.Sprintf(`INSERT INTO balance (customer_id, currency, amount)
			SELECT i::text, 'RUB', 1000000000 FROM generate_series(1, %d) i`, customers),
		fmt.Sprintf(`INSERT INTO product (sku, seller_id, name, price, currency,
				on_hand, reserved, created_at, updated_at)
			SELECT i::text, '%s', 'Product ' || i, 1.00, 'RUB',
				2000000000000, 1000000000000, now(), now()
			FROM generate_series(1, %d) i`, shop, products),
		`VACUUM ANALYZE`)
}

func (t *target) exec(statements ...string) {
	for _, statement := range statements {
		t.Exec(t.t, statement)
	}
}

// fillOrders inserts pending orders with ids in [from, to). Consecutive orders have
// different customers and products, so that they do not wait for each other's locks.
// The seller has created them, so that they are not among the unpaid orders that
// CreateOrder counts for an actor.
func (t *target) fillOrders(from, to int64) {
	t.execUnchecked(
		fmt.Sprintf(`INSERT INTO orders (id, customer_id, seller_id, status, total, currency,
				reserved_until, version, created_by, idempotency_key, created_at, updated_at)
			OVERRIDING SYSTEM VALUE
			SELECT i, (i %% %[1]d + 1)::text, '%[2]s', 'pending_payment', 2.00, 'RUB',
				now() + interval '24 hours', 1, '%[2]s', i::text, now(), now()
			FROM generate_series(%[3]d::bigint, %[4]d) i`, buyers, shop, from, to-1),
		orderItemsSQL(from, to))
	// Otherwise autovacuum does it a little later, and plans change during a
	// measurement.
	t.exec(`VACUUM ANALYZE orders, order_item`)
}

// orderItemsSQL inserts two items for each order with an id in [from, to).
func orderItemsSQL(from, to int64) string {
	return fmt.Sprintf(`INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
		SELECT i, line, (i %% %[1]d + (line - 1) * %[1]d + 1)::text, 1, 1.00
		FROM generate_series(%[2]d::bigint, %[3]d) i, generate_series(1, 2) line`,
		products/2, from, to-1)
}

// execUnchecked executes statements without foreign key checks: the rows refer to
// existing rows.
func (t *target) execUnchecked(statements ...string) {
	err := pgx.BeginFunc(t.t.Context(), t.DB, func(tx pgx.Tx) error {
		for _, statement := range append([]string{`SET LOCAL session_replication_role = replica`}, statements...) {
			if _, err := tx.Exec(t.t.Context(), statement); err != nil {
				return fmt.Errorf("%.60s…: %w", statement, err)
			}
		}
		return nil
	})
	if err != nil {
		t.t.Fatal(err)
	}
}

// deliverNewOrders marks the orders that CreateOrder has created as delivered.
// CreateOrder counts the customer's unpaid orders, and each measurement would add more.
func deliverNewOrders(t *target) {
	t.exec(
		fmt.Sprintf(`UPDATE orders SET status = 'delivered', reserved_until = NULL
			WHERE status = 'pending_payment' AND id < %d`, firstLargeOrder),
		`VACUUM ANALYZE orders, order_item`)
}

// fillUnseen inserts idempotency records under keys in [from, to). They copy the record
// of the storm's first request, so the same request replays them.
func (t *target) fillUnseen(from, to int64) {
	t.exec(fmt.Sprintf(`INSERT INTO idempotency_record (scope, key, fingerprint,
			operation, status, content_type, location, body, created_at, expires_at)
		SELECT scope, i::text, fingerprint,
			operation, status, content_type, location, body, created_at, expires_at
		FROM idempotency_record, generate_series(%d::bigint, %d) i
		WHERE scope = '%s' AND key = '%d'`,
		from, to-1, scopeOf(bank), firstStormKey))
}

// scopeOf returns the scope for keys from a token subject.
func scopeOf(subject string) string { return devissuer.Name + " " + subject }

// supply is a numbered series of rows; each request uses up one. They are inserted
// before a measurement.
type supply struct {
	first   int64        // number of the first row
	perCore int64        // rows per second and core; more than one core can use
	used    atomic.Int64 // rows that requests have taken
	ready   int64        // rows that have been inserted
	fill    func(from, to int64)
}

// take returns a unique number.
func (s *supply) take() (int64, error) {
	n := s.used.Add(1) - 1
	if n >= s.ready {
		return 0, errors.New("more requests than prepared rows")
	}
	return s.first + n, nil
}

// next returns the first number that has not been taken.
func (s *supply) next() int64 { return s.first + s.used.Load() }

// prepareFor inserts enough rows for a measurement with the given length.
func (s *supply) prepareFor(length time.Duration) {
	s.prepare(int64(length.Seconds()) * s.perCore * int64(runtime.NumCPU()))
}

// prepare makes sure that n rows are ready to be taken.
func (s *supply) prepare(n int64) {
	if need := s.used.Load() + n; need > s.ready {
		s.fill(s.first+s.ready, s.first+need)
		s.ready = need
	}
}

// skipTo marks all rows before the given number as used.
func (s *supply) skipTo(number int64) { s.used.Store(number - s.first) }
