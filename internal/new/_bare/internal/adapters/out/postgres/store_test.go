package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/entry"
	"example.com/orders/internal/idempotency/idempotencytest"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// database is the store under test, and a connection that does not use the store. The store
// connects as the service does, so each query is proven to need no more than is granted.
type database struct {
	*postgres.DB
	url   string // of the service
	owner string // URL of the owner, who may set more parameters
	plain *pgxpool.Pool
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	owner := pgtest.New(t)
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
	db, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
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
	testwait.Until(t, query, func() bool { return d.count(t, query) == want })
}

func (d *database) execute(t *testing.T, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := d.plain.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// The suite of AUTH-19. Its effects are events.
func TestKeys(t *testing.T) {
	t.Parallel()
	idempotencytest.Run(t, func(t *testing.T) idempotencytest.Fixture {
		t.Helper()
		d := newDatabase(t)
		return idempotencytest.Fixture{
			Store: d.Keys(), Replica: open(t, d.url).Keys(),
			Write: func(ctx context.Context) error {
				return d.Entries().InTx(ctx, func(ctx context.Context, tx entry.Tx) error {
					return tx.Outbox.Add(ctx, core.Event{Type: entry.EventCreated, Aggregate: "entry/1"})
				})
			},
			Read: func(ctx context.Context) error {
				return d.Entries().InTx(ctx, func(ctx context.Context, tx entry.Tx) error {
					if _, err := tx.Entries.Get(ctx, 1); !errors.Is(err, core.ErrNotFound) {
						return err
					}
					return nil
				})
			},
			Effects: func(t *testing.T) int { t.Helper(); return d.count(t, "SELECT count(*) FROM outbox") },
		}
	})
}

// The second line of defence decides a race: one of the transactions inserts the entry, and
// the others run again and find it.
func TestCreateEntry_RacesForOneOperation(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	amount, err := core.ParseMoney("100.00", "RUB")
	if err != nil {
		t.Fatal(err)
	}
	service, ann := &entry.Service{Store: d.Entries()}, core.Actor{Subject: "ann", Roles: []core.Role{core.Customer}}
	cmd := entry.CreateEntry{Amount: amount, Description: "tea", Key: "key-1"}
	found := make([]*entry.Entry, 4)
	var racing sync.WaitGroup
	for i := range found {
		racing.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var err error
			if found[i], _, err = service.CreateEntry(ctx, ann, cmd); err != nil {
				t.Error(err)
			}
		})
	}
	racing.Wait()
	for _, e := range found {
		if e == nil || e.ID != found[0].ID {
			t.Errorf("%+v and %+v are two entries of one operation", e, found[0])
		}
	}
	if n := d.count(t, "SELECT count(*) FROM outbox"); n != 1 {
		t.Errorf("%d events were written, want 1", n)
	}
	cmd.Description = "coffee"
	var refusal *core.Fault
	if _, _, err := service.CreateEntry(t.Context(), ann, cmd); !errors.As(err, &refusal) || refusal.Code != core.CodeIdempotencyKeyReused {
		t.Errorf("another command with the key: %v, want %s", err, core.CodeIdempotencyKeyReused)
	}
}
