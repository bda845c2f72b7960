package postgres_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core/order"
	pgtest "example.com/orders/internal/test/pg"
	testwait "example.com/orders/internal/test/wait"
	"example.com/orders/kit/guard"
)

// guarded runs a command under a key, and reports whether its record was replayed instead.
func guarded(ctx context.Context, db *postgres.DB, key string, command func()) (replayed bool, err error) {
	claim := guard.Claim{ID: guard.ID{Scope: "issuer", Key: key}, Fingerprint: "1"}
	_, replayed, err = db.Keys().Execute(ctx, claim, func(context.Context) (guard.Result, error) {
		command()
		return guard.Result{Response: guard.Response{Status: 201}, TTL: time.Hour}, nil
	})
	return replayed, err
}

// replays is guarded for a command that must not fail.
func replays(t *testing.T, db *postgres.DB, key string, command func()) bool {
	t.Helper()
	replayed, err := guarded(t.Context(), db, key, command)
	if err != nil {
		t.Fatal(err)
	}
	return replayed
}

func nothing() {}

// A connection breaks when the server crashes, and a crash can lose what was committed.
func TestReplay_ComesFromNoMemoryAfterAConnectionBroke(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	p, url := d.through(t)
	db := open(t, url+"&pool_max_conns=1")
	replays(t, db, "key-1", nothing)
	for range 2 { // the second comes from memory
		if !replays(t, db, "key-1", nothing) {
			t.Fatal("the record was not replayed")
		}
	}

	p.CutAll()
	for range 2 { // the first may meet the broken connection
		_, _ = inTx(t, db, func(context.Context, order.Tx) error { return nil })
	}
	d.execute(t, "DELETE FROM idempotency_record")
	replays(t, db, "key-2", nothing)
	if replays(t, db, "key-1", nothing) {
		t.Error("a record was replayed that the database has lost")
	}
}

// breakConnection closes a connection, and waits until its pool has noticed.
func breakConnection(t *testing.T, db *postgres.DB) {
	t.Helper()
	conn, err := db.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := db.Pool().Stat().TotalConns()
	_ = conn.Conn().Close(t.Context())
	conn.Release()
	testwait.Until(t, "the pool to drop the connection", func() bool { return db.Pool().Stat().TotalConns() < before })
}

func TestReplay_ComesFromNoMemoryOfACommandThatRanWhenAConnectionBroke(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	replays(t, d.DB, "key-0", nothing)
	replays(t, d.DB, "key-1", func() {
		breakConnection(t, d.DB)
	})
	d.execute(t, "DELETE FROM idempotency_record")
	replays(t, d.DB, "key-2", nothing)
	if replays(t, d.DB, "key-1", nothing) {
		t.Error("a record was replayed that the database has lost")
	}
}

// If no connection breaks, only a further answer of the database confirms the memory.
func TestReplay_ComesFromNoMemoryThatTheDatabaseHasNotConfirmedLately(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	replays(t, d.DB, "key-1", nothing)
	if !replays(t, d.DB, "key-1", nothing) {
		t.Fatal("the record was not replayed")
	}
	d.execute(t, "DELETE FROM idempotency_record")
	time.Sleep(200 * time.Millisecond) // what is tested is that time passes
	if replays(t, d.DB, "key-1", nothing) {
		t.Error("a record was replayed that the database has lost")
	}
}

// storming returns a store in a storm of retries, which looks a key up before it claims it,
// and a command that another process has run.
func (d *database) storming(t *testing.T) (*grouping, command) {
	t.Helper()
	g, elsewhere := grouped(t, d.url, 1), grouped(t, d.url, 1)
	g.together(t, elsewhere.stored(t, 16)...)
	return g, elsewhere.stored(t, 1)[0]
}

func TestStorm_ReplaysFromNoMemoryOfARetryThatWaitedWhenAConnectionBroke(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g, stored := d.storming(t)
	release := g.gather(t)
	defer release()
	retry := g.queue(t, t.Context(), stored)
	breakConnection(t, g.DB)
	release()
	expect(t, []answer{receive(t, retry)}, "replayed: done")

	d.execute(t, "DELETE FROM idempotency_record")
	g.alone(t, credit("eve", "1.00")) // hears of the database

	if a := g.execute(t.Context(), stored); a.replayed || a.err != nil {
		t.Errorf("replayed: %t, %v; want a new run, because the database has lost the record", a.replayed, a.err)
	}
}

func TestStorm_ReplaysFromNoMemoryThatTheDatabaseHasNotConfirmedLately(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	g, stored := d.storming(t)
	expect(t, []answer{g.execute(t.Context(), stored)}, "replayed: done")
	d.execute(t, "DELETE FROM idempotency_record")
	time.Sleep(200 * time.Millisecond) // what is tested is that time passes

	if a := g.execute(t.Context(), stored); a.replayed || a.err != nil {
		t.Errorf("replayed: %t, %v; want a new run, because the database has lost the record", a.replayed, a.err)
	}
}

// A demoted primary may have records that the promoted one lacks.
func TestStorm_ReplaysNothingFromAStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.NewCluster(t, nil)
	d := openDatabase(t, pgtest.NewOn(t, server))
	g, stored := d.storming(t)
	if err := os.WriteFile(filepath.Join(server.DataDir(), "standby.signal"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.Pool().Reset()
	testwait.Until(t, "the standby answers", func() bool { return g.Pool().Ping(t.Context()) == nil })

	expect(t, []answer{g.execute(t.Context(), stored)}, unavailable)
}
