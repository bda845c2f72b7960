// Command giftcards is a small second service on the idempotency guard: customers redeem
// gift cards, and a retry never redeems twice. It adds three things to the idempotency
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
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/idempotency"
)

// schema has the gift cards and their redemptions. The unique index is the second line of
// defence: it still knows the key when the stored response has expired.
const schema = `
CREATE TABLE IF NOT EXISTS giftcard (
	code text   PRIMARY KEY,
	remaining_cents bigint NOT NULL CHECK (remaining_cents >= 0)
);
CREATE TABLE IF NOT EXISTS redemption (
	id           bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	code         text   NOT NULL REFERENCES giftcard,
	customer     text   NOT NULL,
	amount_cents bigint NOT NULL CHECK (amount_cents > 0),
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
	guard := idempotency.Guard{Store: store{pool}, Wait: 5 * time.Second, Timeout: 10 * time.Second}
	mux := http.NewServeMux()
	mux.Handle("POST /giftcards/{code}/redemptions", guarded(guard, "redeem", decodeRedeem, redeem))
	return mux, nil
}

// authenticate returns the customer of the request's token. A real service verifies a signed
// token here. Keys must belong to the authenticated principal, never to a claimed one.
func authenticate(r *http.Request) (customer string, ok bool) {
	customer, ok = map[string]string{"Bearer alice-token": "alice", "Bearer bob-token": "bob"}[r.Header.Get("Authorization")]
	return customer, ok
}

// redeemCommand asks to take an amount from a gift card.
type redeemCommand struct {
	Code        string `json:"code"`
	AmountCents int64  `json:"amount_cents"`
}

type redemption struct {
	ID             int64 `json:"id"`
	AmountCents    int64 `json:"amount_cents"`
	RemainingCents int64 `json:"remaining_cents"`
}

func decodeRedeem(r *http.Request, body []byte) (redeemCommand, error) {
	var cmd redeemCommand
	if err := json.Unmarshal(body, &cmd); err != nil {
		return cmd, err
	}
	if cmd.AmountCents <= 0 {
		return cmd, errors.New("amount_cents must be positive")
	}
	cmd.Code = r.PathValue("code")
	return cmd, nil
}

// redeem takes the amount from the card, once per key. It locks the card first, so that two
// redemptions never see the same amount.
func redeem(ctx context.Context, customer, key string, cmd redeemCommand) (any, error) {
	tx := txOf(ctx)
	var remaining int64
	err := tx.QueryRow(ctx, "SELECT remaining_cents FROM giftcard WHERE code = $1 FOR UPDATE", cmd.Code).Scan(&remaining)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, refusal{http.StatusUnprocessableEntity, "unknown_giftcard"}
	}
	if err != nil {
		return nil, err
	}
	var prior redemption
	err = tx.QueryRow(ctx, "SELECT id, amount_cents FROM redemption WHERE code = $1 AND customer = $2 AND key = $3",
		cmd.Code, customer, key).Scan(&prior.ID, &prior.AmountCents)
	if err == nil && prior.AmountCents != cmd.AmountCents {
		return nil, idempotency.ErrKeyReused // not stored: the key belongs to the other request
	}
	if !errors.Is(err, pgx.ErrNoRows) { // redeemed before, under a record that has expired
		prior.RemainingCents = remaining
		return prior, err
	}
	if remaining < cmd.AmountCents {
		return nil, refusal{http.StatusPaymentRequired, "giftcard_exhausted"}
	}
	done := redemption{AmountCents: cmd.AmountCents, RemainingCents: remaining - cmd.AmountCents}
	if _, err := tx.Exec(ctx, "UPDATE giftcard SET remaining_cents = $2 WHERE code = $1", cmd.Code, done.RemainingCents); err != nil {
		return nil, err
	}
	err = tx.QueryRow(ctx, "INSERT INTO redemption (code, customer, amount_cents, key) VALUES ($1, $2, $3, $4) RETURNING id",
		cmd.Code, customer, cmd.AmountCents, key).Scan(&done.ID)
	return done, err
}
