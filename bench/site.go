package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/migrations"
)

// Whom and what the load is about. Customers and products are numbered from 1; orders
// have one product of each half.
const (
	customers = 10_000
	buyers    = 1_000 // the customers that have tokens, because they order and pay
	products  = 10_000
	stormKeys = 1_000 // what a storm of retries asks for again and again

	bank = "bank" // who credits
	shop = "shop" // who sells
)

// Keys are numbers of 19 digits, at random, as UUIDs are. Those of replays lie above.
const (
	firstKey, lastKey = 1_000_000_000_000_000_000, 8_999_999_999_999_999_999
	firstStormKey     = 9_000_000_000_000_000_000
	firstUnseenKey    = 9_100_000_000_000_000_000
	firstExpiredKey   = 9_200_000_000_000_000_000
)

// firstPrepared is the first id of prepared orders: no sequence gets there.
const firstPrepared = 1_000_000_000_000

// tokens are signed before the run.
type tokens struct {
	bank   string
	buyers []string // by customer, from 1
}

func signTokens(iss *issuer) (tokens, error) {
	const life = 24 * time.Hour
	t := tokens{buyers: make([]string, buyers+1)}
	var err error
	for i := 1; i <= buyers && err == nil; i++ {
		t.buyers[i], err = iss.Token(strconv.Itoa(i), []string{"customer"}, life)
	}
	if err == nil {
		t.bank, err = iss.Token(bank, []string{"system"}, life)
	}
	return t, err
}

// site is one database with the service that works on it.
type site struct {
	cluster  *cluster
	database string
	db       *pgx.Conn
	service  *service
	tokens   tokens
	orders   *supply // prepared, to be paid
	unseen   *supply // stored answers that no process has read
}

// newSite makes a database with customers and products. The service is started apart.
func newSite(ctx context.Context, c *cluster, database string, t tokens) (*site, error) {
	s := &site{cluster: c, database: database, tokens: t}
	s.orders = &supply{first: firstPrepared, perCore: 5_000, fill: s.fillOrders}
	s.unseen = &supply{first: firstUnseenKey, perCore: 20_000, fill: s.fillUnseen}
	if err := c.EnsureDatabase(ctx, database); err != nil {
		return nil, err
	}
	if err := migrations.Up(ctx, c.URL(database)); err != nil {
		return nil, err
	}
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	return s, s.seed(ctx)
}

func (s *site) connect(ctx context.Context) error {
	var err error
	s.db, err = pgx.Connect(ctx, s.cluster.URL(s.database))
	return err
}

// stop ends the service and the connection.
func (s *site) stop() error {
	var err error
	if s.service != nil {
		err = s.service.stop()
	}
	return errors.Join(err, s.db.Close(context.Background()))
}

// seed puts customers with ample balances and products with ample stock.
func (s *site) seed(ctx context.Context) error {
	return s.exec(ctx,
		fmt.Sprintf(`INSERT INTO balance (customer_id, currency, amount)
			SELECT i::text, 'RUB', 1000000000 FROM generate_series(1, %d) i`, customers),
		fmt.Sprintf(`INSERT INTO product (sku, seller_id, name, price, currency, on_hand, reserved, created_at, updated_at)
			SELECT i::text, '%s', 'Product ' || i, 1.00, 'RUB', 2000000000000, 1000000000000, now(), now()
			FROM generate_series(1, %d) i`, shop, products),
		`VACUUM ANALYZE`)
}

func (s *site) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := s.db.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60s…: %w", statement, err)
		}
	}
	return nil
}

// fillOrders makes orders that wait for payment, with ids in [from, to). Neighbours have
// different customers and products, so that they do not wait for each other's locks.
func (s *site) fillOrders(ctx context.Context, from, to int64) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		for _, statement := range []string{
			`SET LOCAL session_replication_role = replica`, // the foreign keys are right as they are
			fmt.Sprintf(`INSERT INTO orders (id, customer_id, seller_id, status, total, currency, reserved_until, version,
				created_by, idempotency_key, created_at, updated_at) OVERRIDING SYSTEM VALUE
				SELECT i, (i %% %[1]d + 1)::text, '%[2]s', 'pending_payment', 2.00, 'RUB', now() + interval '24 hours', 1,
					(i %% %[1]d + 1)::text, i::text, now(), now() FROM generate_series(%[3]d::bigint, %[4]d) i`, buyers, shop, from, to-1),
			fmt.Sprintf(`INSERT INTO order_item (order_id, line, sku, quantity, unit_price)
				SELECT i, line, (i %% %[1]d + (line - 1) * %[1]d + 1)::text, 1, 1.00
				FROM generate_series(%[2]d::bigint, %[3]d) i, generate_series(1, 2) line`, products/2, from, to-1),
		} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("prepare orders: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Autovacuum would do it a little later, and plans would change during a measurement.
	return s.exec(ctx, `VACUUM ANALYZE orders, order_item`)
}

// fillUnseen stores answers under keys that no process has asked for: copies of the
// answer to the first request of the storm, for the same request.
func (s *site) fillUnseen(ctx context.Context, from, to int64) error {
	return s.exec(ctx, fmt.Sprintf(`INSERT INTO idempotency_record
		SELECT principal, i::text, fingerprint, command, status, content_type, location, body, created_at, expires_at
		FROM idempotency_record, generate_series(%d::bigint, %d) i WHERE scope = '%s' AND key = '%d'`,
		from, to-1, principal(bank), firstStormKey))
}

// principal is how the service names who sent a request.
func principal(subject string) string { return devissuer.Name + " " + subject }
