package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

// customerOf returns the customer of the request token, or "". A real service verifies a
// signed token here. Keys must belong to the authenticated principal, never to a claimed
// one.
func customerOf(r *http.Request) string {
	return map[string]string{"Bearer alice-token": "alice", "Bearer bob-token": "bob"}[r.Header.Get("Authorization")]
}

// amountCommand asks to redeem an amount of a gift card, or to add it.
type amountCommand struct {
	Customer, Code string
	Cents          int64
}

type entry struct {
	ID             int64 `json:"id"`
	AmountCents    int64 `json:"amount_cents"`
	RemainingCents int64 `json:"remaining_cents"`
}

// maxCents bounds an amount: a million.
const maxCents = 100_000_000

func decodeAmount(r *http.Request) (amountCommand, error) {
	var body struct {
		AmountCents int64 `json:"amount_cents"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return amountCommand{}, err
	}
	if body.AmountCents <= 0 || body.AmountCents > maxCents {
		return amountCommand{}, errors.New("amount_cents must be positive, and at most a million")
	}
	return amountCommand{customerOf(r), r.PathValue("code"), body.AmountCents}, nil
}

// redeem executes a command of httpguard.Handle.
func (s shop) redeem(ctx context.Context, cmd amountCommand) (httpguard.Reply, error) {
	e, err := s.addEntry(ctx, cmd, -cmd.Cents)
	e.AmountCents = cmd.Cents
	return httpguard.Reply{Status: http.StatusCreated, Body: e}, err
}

// topUp is a handler in the middleware.
func (s shop) topUp(w http.ResponseWriter, r *http.Request) {
	cmd, err := decodeAmount(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e, err := s.addEntry(r.Context(), cmd, cmd.Cents)
	if err != nil {
		httpguard.Fail(r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(e) // it is held back, so it cannot fail
}

var (
	errUnknown   = httpguard.Problem{Status: http.StatusUnprocessableEntity, Code: "unknown_giftcard"}
	errExhausted = httpguard.Problem{Status: http.StatusPaymentRequired, Code: "giftcard_exhausted"}
)

// addEntry adds an amount to the card, once per key. It locks the card first, so that two
// entries never see the same amount, and then looks for the key beside the effect.
func (s shop) addEntry(ctx context.Context, cmd amountCommand, cents int64) (e entry, err error) {
	key := guard.KeyOf(ctx)
	err = s.row(ctx, "SELECT remaining_cents FROM giftcard WHERE code = $1 FOR UPDATE", cmd.Code).Scan(&e.RemainingCents)
	if errors.Is(err, sql.ErrNoRows) {
		return e, errUnknown
	}
	if err != nil {
		return e, err
	}
	err = s.row(ctx, "SELECT id, amount_cents FROM entry WHERE code = $1 AND customer = $2 AND key = $3",
		cmd.Code, cmd.Customer, key).Scan(&e.ID, &e.AmountCents)
	if err == nil && e.AmountCents != cents {
		return e, guard.ErrKeyReused // not stored: the key belongs to the other request
	}
	if !errors.Is(err, sql.ErrNoRows) { // entered before, under a record that has expired
		return e, err
	}
	e.AmountCents = cents
	if e.RemainingCents+cents < 0 {
		return e, errExhausted
	}
	if err := s.row(ctx, "UPDATE giftcard SET remaining_cents = remaining_cents + $2 WHERE code = $1 RETURNING remaining_cents",
		cmd.Code, cents).Scan(&e.RemainingCents); err != nil {
		return e, err
	}
	err = s.row(ctx, "INSERT INTO entry (code, customer, amount_cents, key) VALUES ($1, $2, $3, $4) RETURNING id",
		cmd.Code, cmd.Customer, cents, key).Scan(&e.ID)
	return e, err
}
