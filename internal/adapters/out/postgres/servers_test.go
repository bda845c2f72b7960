package postgres_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

// write commits a product of its own.
func write(t *testing.T, db *postgres.DB, sku string) (attempts int, err error) {
	t.Helper()
	return inTx(t, db, func(ctx context.Context, tx order.Tx) error { return tx.Products.Save(ctx, product(sku)) })
}

// Only the first connection tries the server that does not answer.
func TestConnect_BeginsWithTheServerThatAcceptedWritesLast(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	silent, readOnly, primary := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	silent.Silence()
	readOnly.Refuse()
	primary.LeadTo(t, d.url)
	db := open(t, pgtest.Through(t, d.url, silent, readOnly, primary))
	for _, sku := range []string{"tea", "milk", "rice"} {
		if attempts, err := write(t, db, sku); attempts != 1 || err != nil {
			t.Fatalf("%s: %d attempts: %v", sku, attempts, err)
		}
		db.Pool().Reset()
	}
	if tried, refused, used := silent.Accepted(), readOnly.Accepted(), primary.Accepted(); tried != 1 || refused != 1 || used != 3 {
		t.Errorf("%d connections to the silent server, %d to the next, %d to the primary; want 1, 1 and 3", tried, refused, used)
	}
}

// While attempts to connect fail, the next one begins after connectPause at the earliest. Of
// one pool, there are never more than maxConnecting at the same time.
const (
	connectPause  = 100 * time.Millisecond
	maxConnecting = 4
)

// The bound follows the time that the requests took, so that a slow machine does no harm.
func TestConnect_IsTriedRarelyWhileTheDatabaseIsDown(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	endpoint := pgtest.NewEndpoint(t)
	db := open(t, pgtest.Through(t, d.url, endpoint))
	began := time.Now()
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for range 100 {
				if _, err := write(t, db, "tea"); !errors.Is(err, core.ErrUnavailable) {
					t.Errorf("a write without a database: %v", err)
				}
			}
		})
	}
	clients.Wait()
	most := maxConnecting + 1 + int(time.Since(began)/connectPause)
	if n := endpoint.Accepted(); n > most {
		t.Errorf("%d attempts to connect for 2000 writes, want %d at most", n, most)
	}

	endpoint.LeadTo(t, d.url)
	testwait.Until(t, "the store writes", func() bool { _, err := write(t, db, "tea"); return err == nil })
}

func TestConnect_OpensFewConnectionsAtATime(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	endpoint := pgtest.NewEndpoint(t)
	endpoint.Silence()
	db := open(t, pgtest.Through(t, d.url, endpoint)+"&pool_max_conns=20")
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() { _ = db.Pool().Ping(ctx) }) // fails
	}
	testwait.Until(t, "all want a connection", func() bool {
		return db.Pool().Stat().ConstructingConns() == 20 && endpoint.Open() > 0
	})
	if n := endpoint.Open(); n > maxConnecting {
		t.Errorf("%d connections are opened at the same time", n)
	}
	cancel()
	clients.Wait()

	endpoint.LeadTo(t, d.url)
	testwait.Until(t, "the store writes", func() bool { _, err := write(t, db, "tea"); return err == nil })
}

// A partition breaks no connection. When one does not answer, all are left.
func TestConnect_LeavesIdleConnectionsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	first, second := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	first.LeadTo(t, d.url)
	second.LeadTo(t, d.url)
	db := open(t, pgtest.Through(t, d.url, first, second))
	connectAll(t, db, 8)
	released := time.Now()
	testwait.Until(t, "the pool asks whether they are alive", func() bool { return time.Since(released) > time.Second })

	first.Freeze()
	if attempts, err := write(t, db, "tea"); attempts != 1 || err != nil {
		t.Errorf("%d attempts: %v", attempts, err)
	}
	if n := db.Pool().Stat().TotalConns(); n > 2 {
		t.Errorf("%d connections are left, want the new one, and the one that was asked until it is closed", n)
	}
	first.Refuse() // the pool tries to cancel what it asked, and Close would wait for that
}

// A session keeps the setting with which it began: the address of a balancer leads elsewhere,
// and does not break the connections of before.
func TestReadOnlyConnection_IsReplacedByOneThatAcceptsWrites(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	set := func(statement string) {
		d.execute(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I `+statement+`', current_database()); END $$`)
	}
	set("SET default_transaction_read_only = on")
	if _, err := write(t, open(t, d.url), "tea"); !errors.Is(err, core.ErrUnavailable) {
		t.Errorf("a write to a read-only database: %v", err)
	}
	writes, asks := open(t, d.url), open(t, d.url)
	for _, db := range []*postgres.DB{writes, asks} {
		if err := db.Pool().Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	set("RESET default_transaction_read_only")

	if attempts, err := write(t, writes, "tea"); attempts != 2 || err != nil {
		t.Errorf("%d attempts: %v; want the second to succeed", attempts, err)
	}
	if state, err := asks.State(t.Context()); err != nil || state.ReadOnly {
		t.Errorf("%+v, %v; want a database that accepts writes", state, err)
	}
	d.expectCount(t, products, 1)
}

// A primary that was cut off says that it accepts writes, and no standby confirms them.
func TestCommit_ThatDoesNotEndMakesThePoolAskTheOtherServers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	cutOff, promoted := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	cutOff.LeadTo(t, d.url)
	promoted.LeadTo(t, d.url)
	db := open(t, pgtest.Through(t, d.url, cutOff, promoted))
	release := d.hangCommits(t)

	d.leaveInDoubt(t, db)

	release()
	if _, err := write(t, db, "milk"); err != nil || promoted.Accepted() == 0 {
		t.Errorf("the next write: %v, %d connections to the other server", err, promoted.Accepted())
	}
	before := cutOff.Accepted()
	db.Pool().Reset()
	if _, err := write(t, db, "rice"); err != nil || cutOff.Accepted() > before {
		t.Errorf("a later write: %v, %d connections to the server that was left", err, cutOff.Accepted()-before)
	}
}

// incarnation returns the name of a database after a process has started on it.
func incarnation(t *testing.T, url string) string {
	t.Helper()
	db := open(t, pgtest.AsService(t, url))
	defer db.Close()
	if err := db.RenewIncarnation(t.Context()); err != nil {
		t.Fatal(err)
	}
	var id string
	if err := db.Pool().QueryRow(t.Context(), "SELECT id::text FROM incarnation").Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// All processes find the copy without a name.
func TestIncarnation_OfACopyIsRenewedOnce(t *testing.T) {
	t.Parallel()
	original := pgtest.New(t)
	first := incarnation(t, original)
	restored := pgtest.Copy(t, original)
	names := make(chan string, 4)
	for range cap(names) {
		go func() { names <- incarnation(t, restored) }()
	}
	id := <-names
	for range cap(names) - 1 {
		if other := <-names; other != id {
			t.Errorf("the copy was named %s and %s", id, other)
		}
	}
	if id == first {
		t.Error("the copy kept the name of the original")
	}
	if again := incarnation(t, original); again != first {
		t.Error("the original was renamed")
	}
}

func TestIncarnation_IsRenewedByAPromotion(t *testing.T) {
	t.Parallel()
	server := pgtest.NewCluster(t, nil)
	url := pgtest.NewOn(t, server)
	first := incarnation(t, url)
	standby := filepath.Join(server.DataDir(), "standby.signal")
	if err := os.WriteFile(standby, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id := incarnation(t, url); id != first {
		t.Error("a standby, which cannot write, has another name than its primary")
	}
	if _, err := open(t, url).Pool().Exec(t.Context(), "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	if id := incarnation(t, url); id == first {
		t.Error("the promoted database kept the name of its primary")
	}
}

func executeAt(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }() // the statement has committed
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
