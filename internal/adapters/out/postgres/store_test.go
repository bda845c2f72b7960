package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/adapters/out/postgres/group"
	"example.com/orders/internal/core/webhook"
	pgtest "example.com/orders/internal/test/pg"
	storetest "example.com/orders/internal/test/store"
	endpointstest "example.com/orders/internal/test/store/endpoints"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/kit/guard"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Stores {
		t.Helper()
		d := newDatabase(t)
		return storetest.Stores{
			Orders: d.Orders(), Payments: d.Payments(), Customers: d.Customers(),
			Audit: d.Audit(), Keys: d.Keys(), Replica: open(t, d.url).Keys(), Events: d.events,
		}
	})
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	endpointstest.Run(t, func(t *testing.T) webhook.Store {
		t.Helper()
		return newDatabase(t).Webhooks()
	})
}

// The guard's store returns the same results when each command shares a transaction.
func TestStore_InGroups(t *testing.T) {
	t.Parallel()
	storetest.RunKeys(t, func(t *testing.T) storetest.Stores {
		t.Helper()
		d := newDatabase(t)
		g := grouped(t, d.url, 1)
		return storetest.Stores{
			Orders: d.Orders(), Payments: g.Payments(), Customers: d.Customers(), Audit: d.Audit(),
			Keys: accompanied{g.Keys(), t, g}, Replica: accompaniedOn(t, d.url), Events: d.events,
		}
	})
}

// accompanied executes each command in one group with another one, which changes nothing.
type accompanied struct {
	*group.Executor

	t *testing.T
	g *grouping
}

func accompaniedOn(t *testing.T, url string) accompanied {
	t.Helper()
	g := grouped(t, url, 1)
	return accompanied{g.Keys(), t, g}
}

func (a accompanied) Execute(
	ctx context.Context, c guard.Claim, run guard.Command,
) (guard.Record, bool, error) {
	release := a.g.gather(a.t)
	other := a.g.queue(a.t, a.t.Context(), newCommand("nothing", func(context.Context, useCases, string) (string, error) {
		return "", nil
	}))
	var answered atomic.Bool
	go func() {
		testwait.Until(a.t, "the command waits, or needs no group", func() bool {
			return a.Waiting() == 2 || answered.Load()
		})
		release()
	}()
	defer func() {
		answered.Store(true)
		receive(a.t, other)
	}()
	return a.Executor.Execute(ctx, c, run)
}

// database is the store under test, and a connection that does not use the store.
//
// The store connects as the service does. So each of its queries is proven to need no more
// than what migrations grant.
type database struct {
	*postgres.DB
	url   string // of the service
	owner string // URL of the owner, who may set more parameters
	plain *pgxpool.Pool
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	return openDatabase(t, pgtest.New(t))
}

// openDatabase opens a database of which owner is the owner's URL.
func openDatabase(t *testing.T, owner string) *database {
	t.Helper()
	url := pgtest.AsService(t, owner)
	plain, err := pgxpool.New(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	return &database{DB: open(t, url), url: url, owner: owner, plain: plain}
}

func open(t *testing.T, url string) *postgres.DB {
	t.Helper()
	return openWith(t, postgres.Config{URL: url}, postgres.Groups{})
}

func openWith(t *testing.T, cfg postgres.Config, groups postgres.Groups) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), cfg, groups)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// events reads the outbox, in the order in which it was written.
func (d *database) events(t testing.TB) []string {
	t.Helper()
	rows, err := d.plain.Query(t.Context(), "SELECT type || ' ' || aggregate FROM outbox ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// count returns the number that a query returns.
func (d *database) count(t testing.TB, query string) int {
	t.Helper()
	var n int
	if err := d.plain.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// await waits until a query returns a number.
func (d *database) await(t testing.TB, query string, want int) {
	t.Helper()
	testwait.Until(t, fmt.Sprint(query, " returns ", want), func() bool { return d.count(t, query) == want })
}
