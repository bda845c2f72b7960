package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"example.com/orders/internal/idempotency"
	pgbouncertest "example.com/orders/internal/test/pgbouncer"
)

// These tests show the traps that docs/lift.md names, and that are not the store's own.

// TestLostAnswer_IsNoReasonToRunAgain loses the answer to a statement that took effect.
func TestLostAnswer_IsNoReasonToRunAgain(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	mustExec(t, pool, "CREATE TABLE effect ()")
	rows := func() int { return mustCount(t, pool, "SELECT count(*) FROM effect") }

	throughPgx, err := pgx.Connect(t.Context(), lossyProxy(t, pool, "commit"))
	if err != nil {
		t.Fatal(err)
	}
	tx, err := throughPgx.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO effect DEFAULT VALUES"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err == nil || !pgconn.SafeToRetry(err) || rows() != 1 {
		t.Errorf("%v, SafeToRetry = %v, %d rows; want an error that is called safe, and a row", err, pgconn.SafeToRetry(err), rows())
	}

	throughSQL, err := sql.Open("pgx", lossyProxy(t, pool, "insert")+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = throughSQL.Close() })
	if err := throughSQL.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := throughSQL.ExecContext(t.Context(), "INSERT INTO effect DEFAULT VALUES"); err == nil || rows() != 1+3 {
		t.Errorf("one Exec of database/sql: %v, %d rows; want an error, and three rows", err, rows()-1)
	}
}

// lossyProxy returns a URL of the database of a pool. Its connections end instead of
// delivering the answer to a statement that contains a word.
func lossyProxy(t *testing.T, pool *pgxpool.Pool, word string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	cfg := pool.Config().ConnConfig
	network, address := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				_ = client.Close()
				return
			}
			var lose atomic.Bool
			go forward(server, client, func(sent []byte) bool {
				lose.CompareAndSwap(false, bytes.Contains(bytes.ToLower(sent), []byte(word)))
				return true
			})
			go forward(client, server, func([]byte) bool { return !lose.Load() })
		}
	}()
	proxied := url.URL{
		Scheme: "postgres", User: url.UserPassword(cfg.User, cfg.Password), Host: listener.Addr().String(),
		Path: "/" + cfg.Database, RawQuery: "sslmode=disable",
	}
	return proxied.String()
}

// forward copies from one connection to another for as long as pass allows it, and then
// closes both.
func forward(to, from net.Conn, pass func([]byte) bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !pass(buffer[:n]) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A pooler in transaction mode gives each transaction whatever connection is free.
func TestStore_PassesBehindAPooler(t *testing.T) {
	t.Parallel()
	direct := newStore(t)
	cfg := direct.pool.Config().ConnConfig
	server := url.URL{Scheme: "postgres", User: url.UserPassword(cfg.User, cfg.Password), Path: "/" + cfg.Database}
	server.RawQuery = url.Values{"host": {cfg.Host}, "port": {fmt.Sprint(cfg.Port)}}.Encode()
	pool, err := pgxpool.New(t.Context(), pgbouncertest.Start(t, server.String(), 3)+"&default_query_exec_mode=exec")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	guard := idempotency.Guard{Store: store{pool}, Wait: time.Minute, Timeout: time.Minute}
	for _, key := range []string{"key-1", "key-2"} {
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				request := idempotency.Request{ID: idempotency.ID{Scope: "alice", Key: key}}
				if rec, _, err := guard.Do(t.Context(), request, addEffect); err != nil || rec.Status != 201 {
					t.Errorf("%s: %d, %v", key, rec.Status, err)
				}
			})
		}
		all.Wait()
	}
	if n := countEffects(t, direct.pool); n != 2 {
		t.Errorf("two keys had %d effects", n)
	}
}
