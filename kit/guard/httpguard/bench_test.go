package httpguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgxstore"
	"example.com/orders/kit/guard/sqlstore"
)

// BenchmarkHandler compares a handler in a transaction with the same one guarded, and with
// replays, on up to 16 connections. The three take turns, because a machine is not always
// equally fast.
func BenchmarkHandler(b *testing.B) {
	for name, open := range map[string]func(*pgxpool.Pool) (guard.Store, http.HandlerFunc, http.HandlerFunc){
		"pgx": onPgx, "database-sql": onSQL,
	} {
		for _, atOnce := range []int{1, 16} {
			b.Run(fmt.Sprint(name, "/", atOnce), func(b *testing.B) { compare(b, atOnce, open) })
		}
	}
}

func compare(b *testing.B, atOnce int, open func(*pgxpool.Pool) (guard.Store, http.HandlerFunc, http.HandlerFunc)) {
	b.Helper()
	pool := testdb.New(b, func(c *pgxpool.Config) { c.MaxConns = 16 })
	testdb.Exec(b, pool, pgxstore.Schema("idempotency_record")+`
		CREATE TABLE account (id bigint PRIMARY KEY, cents bigint NOT NULL);
		CREATE TABLE transfer (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, account bigint NOT NULL, cents bigint NOT NULL,
			key text NOT NULL, UNIQUE (account, key));
		INSERT INTO account SELECT i, 0 FROM generate_series(0, 999) i`)
	store, plain, handler := open(pool)
	once := httpguard.New(httpguard.Config{Store: store, Scope: func(*http.Request) guard.Scope { return "alice" }})
	guarded := once.Middleware(handler)
	var keys atomic.Int64
	newKey := func() string { return fmt.Sprint("key-", keys.Add(1)) }
	sends := []func() time.Duration{
		func() time.Duration { return send(b, atOnce, plain, newKey) },
		func() time.Duration { return send(b, atOnce, guarded, newKey) },
		func() time.Duration { return send(b, atOnce, guarded, func() string { return "replayed" }) },
	}
	took := make([][]float64, len(sends))
	for turn := range b.N {
		for i := range sends {
			i = (i + turn) % len(sends)
			took[i] = append(took[i], float64(sends[i]().Microseconds())/requests)
		}
	}
	for i, unit := range []string{"µs/transaction", "µs/guarded", "µs/replay"} {
		b.ReportMetric(median(took[i]), unit)
	}
	for i := range took[1] {
		took[1][i] /= took[0][i]
	}
	b.ReportMetric(median(took[1]), "guarded/transaction")
	b.ReportMetric(0, "ns/op")
}

func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// requests are the requests of a turn.
const requests = 320

// send sends the requests of a turn and returns how long they took.
func send(b *testing.B, atOnce int, handler http.Handler, key func() string) time.Duration {
	b.Helper()
	began, all := time.Now(), sync.WaitGroup{}
	for range atOnce {
		all.Go(func() {
			for range requests / atOnce {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/transfers", strings.NewReader(`{"cents": 1000}`))
				r.Header.Set("Idempotency-Key", key())
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code != http.StatusCreated {
					b.Errorf("status %d: %s", w.Code, w.Body)
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// onPgx returns a store, a handler in a transaction, and one in that of the store.
func onPgx(pool *pgxpool.Pool) (guard.Store, http.HandlerFunc, http.HandlerFunc) {
	pay := func(tx pgx.Tx, r *http.Request) error {
		exec := func(ctx context.Context, query string, args ...any) error {
			_, err := tx.Exec(ctx, query, args...)
			return err
		}
		return payOnce(r, tx.QueryRow, exec)
	}
	return pgxstore.New(pool), func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, pgx.BeginFunc(r.Context(), pool, func(tx pgx.Tx) error { return pay(tx, r) }))
		}, func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, pay(pgxstore.Tx(r.Context()), r))
		}
}

// onSQL does the same with database/sql.
func onSQL(pool *pgxpool.Pool) (guard.Store, http.HandlerFunc, http.HandlerFunc) {
	db := stdlib.OpenDBFromPool(pool)
	pay := func(tx *sql.Tx, r *http.Request) error {
		exec := func(ctx context.Context, query string, args ...any) error {
			_, err := tx.ExecContext(ctx, query, args...)
			return err
		}
		return payOnce(r, tx.QueryRowContext, exec)
	}
	return sqlstore.New(db), func(w http.ResponseWriter, r *http.Request) {
			tx, err := db.BeginTx(r.Context(), nil)
			if err == nil {
				err = errors.Join(pay(tx, r), tx.Commit())
			}
			answer(w, r, err)
		}, func(w http.ResponseWriter, r *http.Request) {
			answer(w, r, pay(sqlstore.Tx(r.Context()), r))
		}
}

// payOnce locks an account, looks for the key with the effect, and pays.
func payOnce[R interface{ Scan(dest ...any) error }](
	r *http.Request, queryRow func(context.Context, string, ...any) R, exec func(context.Context, string, ...any) error,
) error {
	ctx, key := r.Context(), r.Header.Get(httpguard.KeyHeader)
	account := crc32.ChecksumIEEE([]byte(key)) % 1000
	var id int64
	if err := queryRow(ctx, "SELECT cents FROM account WHERE id = $1 FOR UPDATE", account).Scan(&id); err != nil {
		return err
	}
	err := queryRow(ctx, "SELECT id FROM transfer WHERE account = $1 AND key = $2", account, key).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if err := exec(ctx, "UPDATE account SET cents = cents + 1 WHERE id = $1", account); err != nil {
		return err
	}
	return exec(ctx, "INSERT INTO transfer (account, cents, key) VALUES ($1, 1, $2)", account, key)
}

func answer(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		httpguard.Fail(r, err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
}
