// Command giftcards is a small second service on the idempotency guard: customers redeem
// gift cards and top them up, and a retry never does so twice. It adds three things to the idempotency
// package: HTTP (guard.go), PostgreSQL (store.go, cleanup.go) and its business (main.go).
// docs/copy.md copies it step by step.
//
// It needs PostgreSQL: DATABASE_URL=postgres://… go run ./examples/giftcards
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Getenv)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "giftcards:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string) error {
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
	handler, err := newHandler(ctx, pool)
	if err != nil {
		return err
	}
	go store{pool}.keepClean(ctx, time.Hour)
	server := &http.Server{Addr: addr, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
	fmt.Println("try: curl -i -X POST http://" + addr + "/giftcards/WELCOME-50/redemptions" +
		` -H "Authorization: Bearer alice-token" -H "Idempotency-Key: first-press" -d '{"amount_cents": 1000}'`)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newHandler creates the tables and returns the service.
func newHandler(ctx context.Context, pool *pgxpool.Pool) (http.Handler, error) {
	if _, err := pool.Exec(ctx, recordSchema+schema); err != nil {
		return nil, fmt.Errorf("create the tables: %w", err)
	}
	g := front{
		Guard:   guard.Guard{Store: store{pool}, Wait: 5 * time.Second, Timeout: 10 * time.Second},
		newKeys: &keyLimit{perMinute: 600},
		observe: func(operation, outcome string, took time.Duration) {
			slog.Info("guarded", "operation", operation, "outcome", outcome, "took", took)
		},
	}
	mux := http.NewServeMux()
	mux.Handle("POST /giftcards/{code}/redemptions", guarded(g, "redeem", decodeAmount, redeem))
	mux.Handle("POST /giftcards/{code}/top-ups", guarded(g, "topUp", decodeAmount, topUp))
	return mux, nil
}

// authenticate returns the customer of the request token. A real service verifies a signed
// token here. Keys must belong to the authenticated principal, never to a claimed one.
func authenticate(r *http.Request) (customer string, ok bool) {
	customer, ok = map[string]string{"Bearer alice-token": "alice", "Bearer bob-token": "bob"}[r.Header.Get("Authorization")]
	return customer, ok
}

// amountCommand asks to redeem an amount of a gift card, or to add it.
type amountCommand struct {
	Code        string `json:"code"`
	AmountCents int64  `json:"amount_cents"`
}

type entry struct {
	ID             int64 `json:"id"`
	AmountCents    int64 `json:"amount_cents"`
	RemainingCents int64 `json:"remaining_cents"`
}

// maxCents bounds an amount: a million.
const maxCents = 100_000_000

func decodeAmount(r *http.Request, body []byte) (amountCommand, error) {
	var cmd amountCommand
	if err := json.Unmarshal(body, &cmd); err != nil {
		return cmd, err
	}
	if cmd.AmountCents <= 0 || cmd.AmountCents > maxCents {
		return cmd, errors.New("amount_cents must be positive, and at most a million")
	}
	cmd.Code = r.PathValue("code")
	return cmd, nil
}

func redeem(ctx context.Context, customer, key string, cmd amountCommand) (reply, error) {
	m, err := addEntry(ctx, customer, key, cmd.Code, -cmd.AmountCents)
	m.AmountCents = cmd.AmountCents
	return reply{Status: http.StatusCreated, Body: m}, err
}

func topUp(ctx context.Context, customer, key string, cmd amountCommand) (reply, error) {
	m, err := addEntry(ctx, customer, key, cmd.Code, cmd.AmountCents)
	return reply{Status: http.StatusOK, Body: m}, err
}

// addEntry adds an amount to the card, once per key. It locks the card first, so that two
// entries never see the same amount.
func addEntry(ctx context.Context, customer, key, code string, cents int64) (e entry, err error) {
	tx := txOf(ctx)
	err = tx.QueryRow(ctx, "SELECT remaining_cents FROM giftcard WHERE code = $1 FOR UPDATE", code).Scan(&e.RemainingCents)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, refusal{http.StatusUnprocessableEntity, "unknown_giftcard"}
	}
	if err != nil {
		return e, err
	}
	err = tx.QueryRow(ctx, "SELECT id, amount_cents FROM entry WHERE code = $1 AND customer = $2 AND key = $3",
		code, customer, key).Scan(&e.ID, &e.AmountCents)
	if err == nil && e.AmountCents != cents {
		return e, guard.ErrKeyReused // not stored: the key belongs to the other request
	}
	if !errors.Is(err, pgx.ErrNoRows) { // entered before, under a record that has expired
		return e, err
	}
	e.AmountCents, e.RemainingCents = cents, e.RemainingCents+cents
	if e.RemainingCents < 0 {
		return e, refusal{http.StatusPaymentRequired, "giftcard_exhausted"}
	}
	if _, err := tx.Exec(ctx, "UPDATE giftcard SET remaining_cents = $2 WHERE code = $1", code, e.RemainingCents); err != nil {
		return e, err
	}
	err = tx.QueryRow(ctx, "INSERT INTO entry (code, customer, amount_cents, key) VALUES ($1, $2, $3, $4) RETURNING id",
		code, customer, cents, key).Scan(&e.ID)
	return e, err
}
