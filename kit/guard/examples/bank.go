package main

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/pgxstore"
)

//go:embed bankdb/schema.sql
var bankSchema string

var schema = bankSchema + pgxstore.Schema("idempotency_record")

// bank transfers money, once for each key.
type bank struct {
	// pay stores a transfer, or finds that of an earlier request with the key.
	pay func(ctx context.Context, t transfer) (id int, err error)
	// before, if not nil, is called first. Its error is that of the transfer.
	before func(*http.Request) error
}

type transfer struct {
	Account, Principal string
	Cents              int
}

func principal(r *http.Request) string { return r.Header.Get("Principal") }

func newGuard(store guard.Store) *httpguard.Guard {
	return httpguard.New(httpguard.Config{
		Store: store, Scope: func(r *http.Request) guard.Scope { return guard.NewScope(principal(r)) },
	})
}

// transfer reads the request and pays.
func (b bank) transfer(r *http.Request, account string) (id int, err error) {
	if b.before != nil {
		if err := b.before(r); err != nil {
			return 0, err
		}
	}
	var body struct{ Cents int }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return 0, httpguard.Problem{Status: http.StatusBadRequest, Code: "invalid"}
	}
	return b.pay(r.Context(), transfer{account, principal(r), body.Cents})
}

// serve is a handler of net/http, apart from the parameter of the path.
func (b bank) serve(w http.ResponseWriter, r *http.Request, account string) {
	id, err := b.transfer(r, account)
	if err != nil {
		httpguard.Fail(r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]int{"id": id}) // it is held back, so it cannot fail
}

var errNoAccount = httpguard.Problem{Status: http.StatusUnprocessableEntity, Code: "no_account"}

// onPgx is a bank on the transaction of pgx.
var onPgx = bank{pay: func(ctx context.Context, t transfer) (id int, err error) {
	tx, key, cents := pgxstore.Tx(ctx), guard.KeyOf(ctx), 0
	err = tx.QueryRow(ctx, "SELECT 1 FROM account WHERE name = $1 FOR UPDATE", t.Account).Scan(&cents)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, errNoAccount
	}
	if err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, "SELECT id, cents FROM transfer WHERE account = $1 AND principal = $2 AND key = $3",
		t.Account, t.Principal, key).Scan(&id, &cents)
	if err == nil && cents != t.Cents {
		return 0, guard.ErrKeyReused
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRow(ctx, "INSERT INTO transfer (account, cents, principal, key) VALUES ($1, $2, $3, $4) RETURNING id",
			t.Account, t.Cents, t.Principal, key).Scan(&id)
	}
	return id, err
}}
