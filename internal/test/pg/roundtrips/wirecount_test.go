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

// connect gives a connection by way of a proxy that has counted nothing yet.
func connect(t *testing.T) (*roundtrips.Proxy, *pgx.Conn) {
	t.Helper()
	wire, err := roundtrips.Start(pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), wire.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close(context.Background())
		if err := wire.Close(); err != nil {
			t.Error(err)
		}
	})
	wire.Take()
	return wire, conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

func TestTrips(t *testing.T) {
	t.Parallel()
	wire, conn := connect(t)
	const one, two = "select $1::int", "select $1::int + 1"

	exec(t, conn, "begin")
	exec(t, conn, one, 1) // is prepared first
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
	if diff := cmp.Diff(want, wire.Take()); diff != "" {
		t.Error(diff)
	}
	exec(t, conn, two, 1)
	exec(t, conn, two, 1)
	if got := len(wire.Take()); got != 3 {
		t.Errorf("%d round trips since the last look, want 3: to prepare once, and to ask twice", got)
	}
}

func TestHousekeepingDoesNotCount(t *testing.T) {
	t.Parallel()
	wire, conn := connect(t)
	if err := conn.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, conn, "select nextval('orders_id_seq')")
	if got := wire.Take(); len(got) != 0 {
		t.Errorf("counted %q", got)
	}
}

func TestHoldAfter(t *testing.T) {
	t.Parallel()
	wire, conn := connect(t)
	release := wire.HoldAfter(1)
	exec(t, conn, "select 1", pgx.QueryExecModeSimpleProtocol)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(ctx, "select 2", pgx.QueryExecModeSimpleProtocol); err == nil {
		t.Error("the second round trip came through")
	}
	release()
	release() // twice does no harm
}

func TestURLThatCannotBeRead(t *testing.T) {
	t.Parallel()
	if _, err := roundtrips.Start("postgres://user:secret@host:port/"); err == nil || err.Error() != "the database URL cannot be read" {
		t.Errorf("err = %v, want one without the password", err)
	}
}
