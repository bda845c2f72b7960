package postgres_test

import (
	"context"
	"testing"
	"time"

	"example.com/orders/internal/adapters/out/postgres"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/idempotency"
	testwait "example.com/orders/internal/test/wait"
)

// guarded runs a command under a key, and reports whether its record was replayed instead.
func guarded(ctx context.Context, db *postgres.DB, key string, command func()) (replayed bool, err error) {
	claim := idempotency.Claim{ID: idempotency.ID{Scope: "issuer", Key: key}, Fingerprint: "1"}
	_, replayed, err = db.Keys().Execute(ctx, claim, func(context.Context) (idempotency.Result, error) {
		command()
		return idempotency.Result{Response: idempotency.Response{Status: 201}, TTL: time.Hour}, nil
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

func TestReplay_ComesFromNoMemoryOfACommandThatRanWhenAConnectionBroke(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	replays(t, d.DB, "key-0", nothing)
	replays(t, d.DB, "key-1", func() {
		other, err := d.Pool().Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before := d.Pool().Stat().TotalConns()
		_ = other.Conn().Close(t.Context())
		other.Release()
		testwait.Until(t, "the pool to drop the connection", func() bool { return d.Pool().Stat().TotalConns() < before })
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
