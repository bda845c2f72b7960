package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	devpostgres "example.com/orders/internal/dev/postgres"
	"example.com/orders/migrations"
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

func signTokens(iss *issuer) (tokens, error) {
	const lifetime = 24 * time.Hour
	t := tokens{buyers: make([]string, buyers+1)}
	var err error
	for i := 1; i <= buyers && err == nil; i++ {
		t.buyers[i], err = iss.Token(strconv.Itoa(i), []string{"customer"}, lifetime)
	}
	if err == nil {
		t.bank, err = iss.Token(bank, []string{"system"}, lifetime)
	}
	return t, err
}

// target is one database and the service that runs on it. The baseline uses the same
// database.
type target struct {
	cluster  *cluster
	database string
	db       *pgx.Conn
	service  *service // nil while it is not running
	tokens   tokens
	orders   *supply // orders that wait for payment
	unseen   *supply // keys with stored responses that no process has read
}

// newTarget creates a database with customers and products.
func newTarget(ctx context.Context, c *cluster, database string, tok tokens) (*target, error) {
	t := &target{cluster: c, database: database, tokens: tok}
	t.orders = &supply{first: firstPending, perCore: 8_000, fill: t.fillOrders}
	t.unseen = &supply{first: firstUnseenKey, perCore: 35_000, fill: t.fillUnseen}
	if err := c.EnsureDatabase(ctx, database); err != nil {
		return nil, err
	}
	if err := t.migrate(ctx); err != nil {
		return nil, err
	}
	if err := t.connect(ctx); err != nil {
		return nil, err
	}
	return t, t.seed(ctx)
}

// serviceRole is the service's login role; serviceGroup has its privileges.
const (
	serviceRole  = "orders_app"
	serviceGroup = "orders_service"
)

func (t *target) migrate(ctx context.Context) error {
	owner := t.cluster.URL(t.database)
	if err := migrations.Up(ctx, owner); err != nil {
		return err
	}
	if err := migrations.Grant(ctx, owner, serviceGroup); err != nil {
		return err
	}
	return devpostgres.EnsureLogin(ctx, owner, serviceRole, serviceGroup)
}

// serviceURL returns the database URL for the service's role.
func (t *target) serviceURL() string { return t.cluster.URLAs(serviceRole, t.database) }

func (t *target) connect(ctx context.Context) error {
	var err error
	t.db, err = pgx.Connect(ctx, t.cluster.URL(t.database))
	return err
}

// stop stops the service and closes the connection to the database.
func (t *target) stop() error {
	return errors.Join(t.stopService(), t.db.Close(context.Background()))
}

func (t *target) stopService() error {
	if t.service == nil {
		return nil
	}
	running := t.service
	t.service = nil
	return running.stop()
}

// seed inserts customers and products. Balances and stock are too large to run out.
func (t *target) seed(ctx context.Context) error {
	return t.exec(ctx,
		fmt.Sprintf(`INSERT INTO balance (customer_id, currency, amount)
			SELECT i::text, 'RUB', 1000000000 FROM generate_series(1, %d) i`, customers),
		fmt.Sprintf(`INSERT INTO product (sku, seller_id, name, price, currency,
				on_hand, reserved, created_at, updated_at)
			SELECT i::text, '%s', 'Product ' || i, 1.00, 'RUB',
				2000000000000, 1000000000000, now(), now()
			FROM generate_series(1, %d) i`, shop, products),
		`VACUUM ANALYZE`)
}

func (t *target) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := t.db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60s…: %w", statement, err)
		}
	}
	return nil
}

// fillOrders inserts pending orders with ids in [from, to). Consecutive orders have
// different customers and products, so that they do not wait for each other's locks.
// The seller has created them, so that they are not among the unpaid orders that
// CreateOrder counts for an actor.
func (t *target) fillOrders(ctx context.Context, from, to int64) error {
	err := pgx.BeginFunc(ctx, t.db, func(tx pgx.Tx) error {
		for _, statement := range pendingOrdersSQL(from, to) {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("insert pending orders: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Otherwise autovacuum does it a little later, and plans change during a
	// measurement.
	return t.exec(ctx, `VACUUM ANALYZE orders, order_item`)
}

// deliverNewOrders marks the orders that CreateOrder has created as delivered.
// CreateOrder counts the customer's unpaid orders, and each measurement would add more.
func deliverNewOrders(ctx context.Context, t *target) error {
	return t.exec(ctx,
		fmt.Sprintf(`UPDATE orders SET status = 'delivered', reserved_until = NULL
			WHERE status = 'pending_payment' AND id < %d`, firstLargeOrder),
		`VACUUM ANALYZE orders, order_item`)
}

func pendingOrdersSQL(from, to int64) []string {
	return []string{
		// Skips foreign key checks: the rows refer to existing rows.
		`SET LOCAL session_replication_role = replica`,
		fmt.Sprintf(`INSERT INTO orders (id, customer_id, seller_id, status, total, currency,
				reserved_until, version, created_by, idempotency_key, created_at, updated_at)
			OVERRIDING SYSTEM VALUE
			SELECT i, (i %% %[1]d + 1)::text, '%[2]s', 'pending_payment', 2.00, 'RUB',
				now() + interval '24 hours', 1, '%[2]s', i::text, now(), now()
			FROM generate_series(%[3]d::bigint, %[4]d) i`, buyers, shop, from, to-1),
		fmt.Sprintf(`INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
			SELECT i, line, (i %% %[1]d + (line - 1) * %[1]d + 1)::text, 1, 1.00
			FROM generate_series(%[2]d::bigint, %[3]d) i, generate_series(1, 2) line`,
			products/2, from, to-1),
	}
}

// fillUnseen inserts idempotency records under keys in [from, to). They copy the record
// of the storm's first request, so the same request replays them.
func (t *target) fillUnseen(ctx context.Context, from, to int64) error {
	return t.exec(ctx, fmt.Sprintf(`INSERT INTO idempotency_record (scope, key, fingerprint,
			operation, status, content_type, location, body, created_at, expires_at)
		SELECT scope, i::text, fingerprint,
			operation, status, content_type, location, body, created_at, expires_at
		FROM idempotency_record, generate_series(%d::bigint, %d) i
		WHERE scope = '%s' AND key = '%d'`,
		from, to-1, scopeOf(bank), firstStormKey))
}

// scopeOf returns the scope for keys from a token's subject.
func scopeOf(subject string) string { return devissuer.Name + " " + subject }
