package postgres_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
)

// hangCommits makes each COMMIT of a product wait, as one does for a lost standby, until
// release is called.
func (d *database) hangCommits(t *testing.T) (release func()) {
	t.Helper()
	d.execute(t, `CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END'`,
		`CREATE CONSTRAINT TRIGGER hang AFTER INSERT ON product DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hang()`)
	return d.hold(t, "SELECT pg_advisory_xact_lock(1)")
}

const hanging = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'"

// overdue is a context whose end is that of a deadline.
type overdue struct{ context.Context } //nolint:containedctx // it is a context

func (c overdue) Err() error {
	if c.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// leaveInDoubt sends a COMMIT that hangs, and gives it up at its deadline.
func (d *database) leaveInDoubt(t *testing.T, db *postgres.DB) {
	t.Helper()
	ctx, expire := context.WithCancel(t.Context())
	defer expire()
	ended := make(chan error, 1)
	before := d.count(t, hanging)
	go func() {
		ended <- db.Orders().InTx(overdue{ctx}, func(ctx context.Context, tx order.Tx) error {
			return tx.Products.Save(ctx, product("doubt-"+strconv.Itoa(before)))
		})
	}()
	d.await(t, hanging, before+1)
	expire()
	if err := <-ended; !errors.Is(err, core.ErrOutcomeUnknown) {
		t.Fatalf("a COMMIT that is given up: %v; want an unknown outcome", err)
	}
}

// Jobs, the relay and queued commands have passed no earlier check. Their COMMITs would hang
// as well, and take the remaining connections.
func TestWrites_AreRefusedWhileManyCommitsAreInDoubt(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := open(t, d.url+"&pool_max_conns=12") // nine may write
	release := d.hangCommits(t)
	writes := maps.Clone(kindsOfWrites)
	delete(writes, "a guarded command") // its replay is answered from memory
	writes["a queued command"] = func(ctx context.Context, db *postgres.DB) error {
		place, err := db.Places.InLane(ctx)
		if err == nil {
			place.Leave()
		}
		return err
	}
	try := func(refused bool) {
		for kind, write := range writes {
			if err := write(t.Context(), db); refused != errors.Is(err, core.ErrUnavailable) || !refused && err != nil {
				t.Errorf("%d COMMITs in doubt, %s: %v; want it refused: %t", db.Places.Unanswered(), kind, err, refused)
			}
		}
	}
	for range 3 {
		d.leaveInDoubt(t, db)
	}
	try(false)
	d.leaveInDoubt(t, db)

	try(true)

	release()
	testwait.Until(t, "no COMMIT is in doubt", func() bool { return db.Places.Unanswered() == 0 })
	try(false)
}

// The server that was left still waits for its standby, and never answers. The place of its
// COMMIT is needed on the new one.
func TestCommitInDoubt_IsForgottenWhenThePoolHasLeftItsServer(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	promoted := pgtest.NewCluster(t, nil)
	pgtest.NewOn(t, promoted)
	name := pgx.Identifier{d.plain.Config().ConnConfig.Database}.Sanitize()
	executeAt(t, promoted.URL("postgres"), "ALTER DATABASE orders RENAME TO "+name)
	left, other := pgtest.NewEndpoint(t), pgtest.NewEndpoint(t)
	left.LeadTo(t, d.url)
	other.LeadTo(t, promoted.URL("postgres"))
	db := open(t, pgtest.Through(t, d.url, left, other)+"&pool_max_conns=3") // one may write
	d.hangCommits(t)
	d.leaveInDoubt(t, db)

	testwait.Until(t, "the new server is written to", func() bool { _, err := write(t, db, "tea"); return err == nil })

	if n := db.Places.Unanswered(); n != 0 {
		t.Errorf("%d COMMITs are in doubt after the pool has left their server", n)
	}
	d.expectCount(t, hanging, 1) // it was not cancelled
}

// twiceClosed is a connection on which a statement may be under way when the service closes it.
// The driver closes it again when it has cancelled the statement, or given that up.
type twiceClosed struct {
	net.Conn
	closed atomic.Bool
	again  *atomic.Bool
}

// Close implements [net.Conn].
func (c *twiceClosed) Close() error {
	if c.closed.Swap(true) {
		c.again.Store(true)
	}
	return c.Conn.Close()
}

// A service that stops leaves its COMMITs to the server, as one that is killed does.
func TestClose_NeitherWaitsForCommitsInDoubtNorCancelsThem(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var left atomic.Bool
	db := openWith(t, postgres.Config{URL: d.url, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &twiceClosed{Conn: conn, again: &left}, err
	}}, postgres.Groups{})
	release := d.hangCommits(t)
	d.leaveInDoubt(t, db)
	closed := make(chan struct{})

	go func() { db.Close(); close(closed) }()

	select {
	case <-closed:
	case <-time.After(testwait.Patience):
		t.Fatal("Close waits for a COMMIT in doubt")
	}
	testwait.Until(t, "the driver leaves the connection", left.Load)
	if n := d.count(t, hanging); n != 1 {
		t.Fatalf("%d COMMITs hang, want 1", n)
	}
	release()
	d.await(t, products, 1)
}
