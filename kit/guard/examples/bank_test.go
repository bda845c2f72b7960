package examples

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgtest"
	"example.com/orders/kit/guard/pgxstore"
	"example.com/orders/kit/guard/routetest"
)

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

// bankSchema has transfers from before the guard.
const bankSchema = `
CREATE TABLE account (name text PRIMARY KEY);
CREATE TABLE transfer (
	id      bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	account text   NOT NULL REFERENCES account,
	cents   bigint NOT NULL
);
INSERT INTO account VALUES ('ann'), ('bob');
INSERT INTO transfer (account, cents) VALUES ('ann', 1000), ('ann', 1000);
`

// secondLine lets the transfers know their keys for ever.
const secondLine = `
ALTER TABLE transfer ADD principal text, ADD key text;
CREATE UNIQUE INDEX transfer_key ON transfer (account, principal, key);
`

func newTables(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := testdb.New(t)
	testdb.Exec(t, pool, pgxstore.Schema("idempotency_record")+bankSchema+secondLine)
	return pool
}

// send sends one request of alice.
func send(t *testing.T, handler http.Handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/accounts/ann/transfers", strings.NewReader(body))
	r.Header.Set("Principal", "alice")
	r.Header.Set("Idempotency-Key", "key-1")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// newRoute describes the route, served by two processes.
func newRoute(t *testing.T, pool *pgxpool.Pool, build func(*pgxpool.Pool) http.Handler) routetest.Route {
	t.Helper()
	serve := func() string {
		server := httptest.NewServer(build(testdb.Open(t, pool.Config())))
		t.Cleanup(server.Close)
		return server.URL
	}
	request := func(account, body string) routetest.Request {
		return routetest.Request{Method: http.MethodPost, Path: "/accounts/" + account + "/transfers", Body: body}
	}
	return routetest.Route{
		URL: serve(), Replica: serve(),
		Request:   request("ann", `{"cents": 1000, "note": "rent"}`),
		Others:    []routetest.Request{request("ann", `{"cents": 1001}`), request("bob", `{"cents": 1000, "note": "rent"}`)},
		Refused:   request("nobody", `{"cents": 1000}`),
		Principal: http.Header{"Principal": {"alice"}}, Peer: http.Header{"Principal": {"eve"}},
		Effects:    pgtest.Count(pool, "transfer"),
		Hold:       pgtest.Hold(pool, "SELECT FROM account FOR UPDATE"),
		Fail:       pgtest.Break(pool, "transfer"),
		FailRecord: pgtest.Break(pool, "idempotency_record"),
		Expire:     pgtest.Expire(pool, "idempotency_record"),
	}
}
