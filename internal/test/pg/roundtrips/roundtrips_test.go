package roundtrips_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	pgtest "example.com/orders/internal/test/pg"
	"example.com/orders/internal/test/pg/roundtrips"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// connect returns a connection through a proxy that has recorded nothing yet.
func connect(t *testing.T) (*roundtrips.Proxy, *pgx.Conn) {
	t.Helper()
	proxy, err := roundtrips.Start(pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), proxy.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close(context.Background())
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	proxy.Take()
	return proxy, conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func TestTake_ReturnsEachRoundTrip(t *testing.T) {
	t.Parallel()
	proxy, conn := connect(t)
	const one, two = "select $1::int", "select $1::int + 1"

	exec(t, conn, "begin")
	exec(t, conn, one, 1) // prepares the statement first
	exec(t, conn, one, 2)
	batch := &pgx.Batch{}
	batch.Queue(one, 3)
	batch.Queue("commit")
	if err := conn.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}

	want := []roundtrips.Trip{
		{"begin"}, {"parse " + one}, {one}, {one},
		{"parse commit"}, {one, "commit"},
	}
	if diff := cmp.Diff(want, proxy.Take()); diff != "" {
		t.Error(diff)
	}
	exec(t, conn, two, 1)
	exec(t, conn, two, 1)
	if got := len(proxy.Take()); got != 3 {
		t.Errorf("%d round trips since the last Take, want 3: one to prepare, two to execute", got)
	}
}

func TestTake_OmitsHousekeeping(t *testing.T) {
	t.Parallel()
	proxy, conn := connect(t)
	if err := conn.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "select nextval('orders_id_seq')")
	if got := proxy.Take(); len(got) != 0 {
		t.Errorf("counted %q", got)
	}
}

func TestHoldAfter_DelaysLaterRoundTrips(t *testing.T) {
	t.Parallel()
	proxy, conn := connect(t)
	release := proxy.HoldAfter(1)
	exec(t, conn, "select 1", pgx.QueryExecModeSimpleProtocol)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(ctx, "select 2", pgx.QueryExecModeSimpleProtocol); err == nil {
		t.Error("the second round trip was not delayed")
	}
	release()
	release() // may be called twice
}

func TestStart_HidesThePasswordOfAnInvalidURL(t *testing.T) {
	t.Parallel()
	if _, err := roundtrips.Start("postgres://user:secret@host:port/"); err == nil || err.Error() != "the database URL cannot be read" {
		t.Errorf("err = %v, want one without the password", err)
	}
}
