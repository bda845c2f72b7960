package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lib/pq"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/guardtest"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgtest"
	"example.com/orders/kit/guard/sqlstore"
)

// newEffects returns a pool on a database with records and effects.
func newEffects(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := testdb.New(t)
	testdb.Exec(t, pool, sqlstore.Schema("idempotency_record")+"CREATE TABLE effect ()")
	return pool
}

// onPQ returns a store on lib/pq. options end the URL, and d may be nil.
func onPQ(t *testing.T, pool *pgxpool.Pool, options string, d pq.Dialer) *sqlstore.Store {
	t.Helper()
	connector, err := pq.NewConnector(pool.Config().ConnString() + options)
	if err != nil {
		t.Fatal(err)
	}
	if d != nil {
		connector.Dialer(d)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return sqlstore.New(db)
}

// exec returns a function that executes a statement in the transaction of a command.
func exec(statement string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := sqlstore.Tx(ctx).ExecContext(ctx, statement)
		return err
	}
}

var addEffect = exec("INSERT INTO effect DEFAULT VALUES")

func TestPQ_PassesTheSuite(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{"text": "", "binary": "&binary_parameters=yes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guardtest.Run(t, func(t *testing.T) guardtest.Fixture {
				t.Helper()
				pool := newEffects(t)
				return guardtest.Fixture{
					Store: onPQ(t, pool, options, nil), Replica: onPQ(t, pool, options, nil),
					Write: addEffect, Read: exec("SELECT FROM effect"), Effects: pgtest.Count(pool, "effect"),
				}
			})
		})
	}
}

var request = guard.Request{ID: guard.ID{Scope: "alice", Key: "key-1"}}

// created is the result of a command that has an effect.
var created = guard.Result{Response: guard.Response{Status: 201}, TTL: time.Hour}

// do performs the request as httpguard does.
func do(ctx context.Context, store guard.Store, run guard.Command) (replayed bool, err error) {
	_, replayed, err = guard.Guard{Store: store, Wait: time.Minute, Timeout: time.Minute}.Do(ctx, request, run)
	return replayed, err
}

func TestPQ_RunsACommandAgainAfterALostRace(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"40001", "40P01"} {
		pool, runs := newEffects(t), 0
		_, err := do(t.Context(), onPQ(t, pool, "", nil), func(ctx context.Context) (guard.Result, error) {
			runs++
			if runs == 1 {
				return created, errors.Join(addEffect(ctx), exec("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '"+state+"'; END $$")(ctx))
			}
			return created, addEffect(ctx)
		})
		if effects := pgtest.Count(pool, "effect")(t); err != nil || runs != 2 || effects != 1 {
			t.Errorf("%s: %d runs, %d effects, %v; want 2 and 1", state, runs, effects, err)
		}
	}
}

// lib/pq returns driver.ErrBadConn, after which database/sql may repeat a call.
func TestPQ_ReportsALostCommitAsUnknown(t *testing.T) {
	t.Parallel()
	pool, runs := newEffects(t), 0
	store := onPQ(t, pool, "", &losing{})
	run := func(ctx context.Context) (guard.Result, error) {
		runs++
		return created, addEffect(ctx)
	}
	_, err := do(t.Context(), store, run)
	if !errors.Is(err, guard.ErrOutcomeUnknown) {
		t.Errorf("the first request: %v, want ErrOutcomeUnknown", err)
	}
	replayed, err := do(t.Context(), store, run)
	if effects := pgtest.Count(pool, "effect")(t); err != nil || !replayed || runs != 1 || effects != 1 {
		t.Errorf("the retry: replayed = %t, %d runs, %d effects, %v; want a replay of one", replayed, runs, effects, err)
	}
}

// A command that waits for a lock when its time is over keeps nothing, and the retry
// gets a working connection.
func TestPQ_RollsBackACommandWhoseContextEnds(t *testing.T) {
	t.Parallel()
	pool := newEffects(t)
	store, hold := onPQ(t, pool, "", nil), pgtest.Hold(pool, "LOCK TABLE effect")(t)
	run := func(ctx context.Context) (guard.Result, error) { return created, addEffect(ctx) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := store.Execute(ctx, guard.Claim{ID: request.ID}, run)
		ended <- err
	}()
	hold.Await()
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the command whose context ended: %v, want %v", err, context.Canceled)
	}
	hold.Release()
	replayed, err := do(t.Context(), store, run)
	if effects := pgtest.Count(pool, "effect")(t); err != nil || replayed || effects != 1 {
		t.Errorf("the retry: replayed = %t, %d effects, %v; want one effect", replayed, effects, err)
	}
}

// losing dials connections, one of which loses the answer to a COMMIT that has succeeded.
type losing struct{ lost atomic.Bool }

func (d *losing) Dial(network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), network, address)
	return &losingConn{Conn: conn, lost: &d.lost}, err
}

func (d *losing) DialTimeout(network, address string, _ time.Duration) (net.Conn, error) {
	return d.Dial(network, address)
}

type losingConn struct {
	net.Conn
	lost    *atomic.Bool
	commits bool
}

func (c *losingConn) Write(message []byte) (int, error) {
	c.commits = bytes.Contains(message, []byte("COMMIT"))
	return c.Conn.Write(message)
}

func (c *losingConn) Read(answer []byte) (int, error) {
	n, err := c.Conn.Read(answer)
	if c.commits && c.lost.CompareAndSwap(false, true) {
		return 0, io.EOF
	}
	return n, err
}
