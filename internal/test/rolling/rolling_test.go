//go:build cluster

package rolling

import (
	"context"
	"flag"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/client"
	"example.com/orders/internal/dev/cluster"
	devissuer "example.com/orders/internal/dev/issuer"
	"example.com/orders/internal/test/e2e"
	testwait "example.com/orders/internal/test/wait"
)

var from = flag.String("from", "HEAD", "the `commit` that is installed before; it must know the settings of the cluster")

// more is how many commands are answered between two steps.
const more = 150

// run is a rolling upgrade.
type run struct {
	*cluster.Cluster
	load *load
}

func TestRollingUpgrade_FailsNoRequest(t *testing.T) {
	before, next := buildAt(t, *from), buildNext(t, "next", expansion)
	after := buildNext(t, "after", slices.Concat(expansion, contraction))
	r := start(t, before)
	stop := r.load.start(t)
	r.work(t)

	r.migrate(t, next)
	for _, replica := range r.Role("orders") {
		r.replace(t, replica, next)
	}
	r.fill(t)
	r.migrate(t, after)
	r.work(t)

	stop()
	r.check(t)
}

// start starts a cluster with the version before, and a product to sell.
func start(t *testing.T, before string) *run {
	t.Helper()
	issuer, err := devissuer.New(devissuer.Config{Algorithm: "ES256"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(issuer.Handler())
	t.Cleanup(server.Close)
	c, err := cluster.Start(t.Context(), cluster.Config{
		Orders: before, Nats: build(t, root, "nats-server", "github.com/nats-io/nats-server/v2"), Notices: os.Stderr,
		Settings: []string{
			"ORDERS_JWT_ISSUER=" + devissuer.Name, "ORDERS_JWT_AUDIENCE=" + devissuer.Audience, "ORDERS_JWKS_URL=" + server.URL + devissuer.JWKSPath,
			"ORDERS_REQUESTS_PER_MINUTE=1000000", "ORDERS_IDEMPOTENCY_KEYS_PER_MINUTE=1000000", "ORDERS_IN_FLIGHT=1000000",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{c, &load{url: c.URL(), byKey: map[string]*answered{}}}
	t.Cleanup(func() {
		if t.Failed() {
			for _, n := range c.Role("orders") {
				t.Logf("the log of %s:\n%s", n.Name(), n.Log())
			}
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	r.load.token = func(subject, role string) string {
		token, err := issuer.Token(subject, []string{role}, time.Hour)
		if err != nil {
			t.Error(err)
		}
		return token
	}
	r.putProduct(t)
	return r
}

func (r *run) putProduct(t *testing.T) {
	t.Helper()
	shop, err := r.load.client(seller, "seller")
	if err != nil {
		t.Fatal(err)
	}
	onHand := int64(units)
	if _, err := shop.PutProduct(t.Context(), sku, client.ProductUpdate{Name: "Tea", Price: roubles("100.00"), OnHand: &onHand}, ""); err != nil {
		t.Fatal(err)
	}
}

// work waits until clients have got more answers, and has each replica replay some of all.
func (r *run) work(t *testing.T) {
	t.Helper()
	enough := r.load.decided() + more
	testwait.Until(t, "clients get more answers", func() bool { return r.load.decided() >= enough })
	for _, replica := range r.Role("orders") {
		r.load.replay(t, "http://"+net.JoinHostPort(replica.Addr(), "8080"), r.load.sample(30))
	}
}

// migrate runs the migrations of a version. The replicas that run stay in the balancer.
func (r *run) migrate(t *testing.T, binary string) {
	t.Helper()
	if err := r.Migrate(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
	if err := r.Whole(t.Context()); err != nil {
		t.Errorf("after a migration: %v", err)
	}
	r.work(t)
}

// replace replaces a replica, and waits until the balancer sends requests to it.
func (r *run) replace(t *testing.T, replica *cluster.Node, binary string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := replica.Terminate(ctx); err != nil {
		t.Fatal(err)
	}
	replica.Use(binary)
	if err := replica.Start(); err != nil {
		t.Fatal(err)
	}
	if err := r.AwaitWhole(ctx); err != nil {
		t.Fatal(err)
	}
	r.work(t)
}

// fill fills the new column, batch by batch.
func (r *run) fill(t *testing.T) {
	t.Helper()
	db := r.connect(t)
	var missing, filled int64
	testwait.Until(t, "no row is left to fill", func() bool {
		batch, err := db.Exec(t.Context(), backfill)
		if err != nil {
			t.Fatal(err)
		}
		filled += batch.RowsAffected()
		if err := db.QueryRow(t.Context(), "SELECT count(*) FROM orders WHERE channel IS NULL").Scan(&missing); err != nil {
			t.Fatal(err)
		}
		return missing == 0
	})
	if filled == 0 {
		t.Error("the version before has written no row that the back-fill had to fill")
	}
	t.Logf("the back-fill filled %d rows", filled)
}

func (r *run) connect(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db, err := pgxpool.New(t.Context(), r.DatabaseURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// check checks that every call of a client has succeeded, that every key is replayed with
// the bytes of its first response, and that money and stock balance.
func (r *run) check(t *testing.T) {
	t.Helper()
	replica := r.Role("orders")[0]
	r.load.replay(t, "http://"+net.JoinHostPort(replica.Addr(), "8080"), r.load.sample(r.load.decided()))
	for _, err := range first(r.load.failed, 10) {
		t.Errorf("a call failed: %v", err)
	}
	for _, changed := range first(r.load.changed, 10) {
		t.Error(changed)
	}
	e2e.CheckInvariants(t, r.connect(t), e2e.Stock{sku: units})
	t.Logf("%d commands in %d attempts, %d calls failed, %d replays differed, the longest time without a write was %v",
		r.load.decided(), r.load.attempts, len(r.load.failed), len(r.load.changed), r.load.longestPause().Round(time.Millisecond))
}

func first[T any](all []T, n int) []T { return all[:min(n, len(all))] }
