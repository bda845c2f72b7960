package httpguard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgxstore"
)

const insertTransfer = "INSERT INTO transfer (cents) VALUES (1000)"

// BenchmarkHandler compares an unguarded handler in a transaction, a guarded one, and
// replays, with 16 requests at a time on 16 connections.
func BenchmarkHandler(b *testing.B) {
	pool := testdb.New(b, func(c *pgxpool.Config) { c.MaxConns = 16 })
	testdb.Exec(b, pool, pgxstore.Schema("idempotency_record")+"CREATE TABLE transfer (cents bigint)")
	once := httpguard.New(httpguard.Config{
		Store: pgxstore.New(pool), Scope: func(*http.Request) guard.Scope { return "alice" },
	})
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := pgx.BeginFunc(r.Context(), pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(r.Context(), insertTransfer)
			return err
		})
		answer(w, r, err)
	})
	guarded := once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := pgxstore.Tx(r.Context()).Exec(r.Context(), insertTransfer)
		answer(w, r, err)
	}))
	var keys atomic.Int64
	newKey := func() string { return fmt.Sprint("key-", keys.Add(1)) }
	b.Run("transaction", func(b *testing.B) { send16(b, plain, newKey) })
	b.Run("guarded", func(b *testing.B) { send16(b, guarded, newKey) })
	b.Run("replay", func(b *testing.B) { send16(b, guarded, func() string { return "key-1" }) })
}

func answer(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		httpguard.Fail(r, err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

// send16 sends 16 requests at a time.
func send16(b *testing.B, handler http.Handler, key func() string) {
	b.Helper()
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(next *testing.PB) {
		for next.Next() {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/transfers", strings.NewReader(`{"cents": 1000}`))
			r.Header.Set("Idempotency-Key", key())
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusCreated {
				b.Errorf("status %d: %s", w.Code, w.Body)
				return
			}
		}
	})
}
