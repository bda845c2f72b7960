// Command giftcards is a small service on the guard of kit/guard: customers redeem gift
// cards and top them up, and a retry never does so twice. One route has a handler of
// net/http, the other one a function that decodes a command and one that executes it.
//
// It needs PostgreSQL. With -sql it uses database/sql in place of pgx:
//
//	DATABASE_URL=postgres://… go run .
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/pgxstore"
	"example.com/orders/kit/guard/sqlstore"
)

// schema has the gift cards and their entries: redemptions are negative. The unique index is
// the second line of defence: it still knows the key when the stored response has expired.
const schema = `
CREATE TABLE IF NOT EXISTS giftcard (
	code text   PRIMARY KEY,
	remaining_cents bigint NOT NULL CHECK (remaining_cents >= 0)
);
CREATE TABLE IF NOT EXISTS entry (
	id           bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	code         text   NOT NULL REFERENCES giftcard,
	customer     text   NOT NULL,
	amount_cents bigint NOT NULL CHECK (amount_cents <> 0),
	key          text   NOT NULL,
	UNIQUE (code, customer, key)
);
INSERT INTO giftcard VALUES ('WELCOME-50', 5000) ON CONFLICT DO NOTHING`

func main() {
	useSQL := flag.Bool("sql", false, "use database/sql in place of pgx")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Getenv, *useSQL)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "giftcards:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string, useSQL bool) error {
	url := getenv("DATABASE_URL")
	if url == "" {
		return errors.New("DATABASE_URL is not set")
	}
	addr := cmp.Or(getenv("ADDR"), "127.0.0.1:8081")
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()
	open := map[bool]func(*pgxpool.Pool) shop{false: onPgx, true: onSQL}[useSQL]
	handler, err := newHandler(ctx, pool, open(pool))
	if err != nil {
		return err
	}
	server := &http.Server{Addr: addr, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
	fmt.Println("try: curl -i -X POST http://" + addr + "/giftcards/WELCOME-50/redemptions" +
		` -H "Authorization: Bearer alice-token" -H "Idempotency-Key: first-press" -d '{"amount_cents": 1000}'`)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shop is the business on a store. A service has one of the two.
type shop struct {
	store interface {
		guard.Store
		Check(ctx context.Context) error
		KeepClean(ctx context.Context, every time.Duration)
	}
	// row executes a statement in the transaction of the command.
	row func(ctx context.Context, sql string, args ...any) row
}

type row interface{ Scan(dest ...any) error }

func onPgx(pool *pgxpool.Pool) shop {
	return shop{pgxstore.New(pool), func(ctx context.Context, sql string, args ...any) row {
		return pgxstore.Tx(ctx).QueryRow(ctx, sql, args...)
	}}
}

func onSQL(pool *pgxpool.Pool) shop {
	return shop{sqlstore.New(stdlib.OpenDBFromPool(pool)), func(ctx context.Context, sql string, args ...any) row {
		return sqlstore.Tx(ctx).QueryRowContext(ctx, sql, args...)
	}}
}

// newHandler creates the tables and returns the service. Expired records are deleted until
// ctx ends.
func newHandler(ctx context.Context, pool *pgxpool.Pool, s shop) (http.Handler, error) {
	if _, err := pool.Exec(ctx, pgxstore.Schema("idempotency_record")+schema); err != nil {
		return nil, fmt.Errorf("create the tables: %w", err)
	}
	if err := s.store.Check(ctx); err != nil {
		return nil, err
	}
	go s.store.KeepClean(ctx, time.Hour)
	once := httpguard.New(httpguard.Config{
		Store: s.store,
		Scope: func(r *http.Request) guard.Scope { return guard.NewScope(customerOf(r)) },
		Done: func(_ *http.Request, o httpguard.Outcome) {
			slog.Info("guarded", "operation", o.Operation, "outcome", o.Code, "took", o.Took)
		},
	})
	mux := http.NewServeMux()
	mux.Handle("POST /giftcards/{code}/redemptions", httpguard.Handle(once, "redeem", decodeAmount, s.redeem))
	mux.Handle("POST /giftcards/{code}/top-ups", once.Middleware(http.HandlerFunc(s.topUp)))
	return mux, nil
}
