package httpguard_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgtest"
	"example.com/orders/kit/guard/pgxstore"
	"example.com/orders/kit/guard/routetest"
	"example.com/orders/kit/guard/sqlstore"
)

// bank is a service whose transfers are guarded, on one of the drivers.
type bank struct {
	store guard.Store
	// row executes a statement in the transaction of the command.
	row func(ctx context.Context, sql string, args ...any) interface{ Scan(dest ...any) error }
}

var banks = map[string]func(t *testing.T, pool *pgxpool.Pool) bank{
	"pgx": func(_ *testing.T, pool *pgxpool.Pool) bank {
		return bank{pgxstore.New(pool), func(ctx context.Context, sql string, args ...any) interface{ Scan(...any) error } {
			return pgxstore.Tx(ctx).QueryRow(ctx, sql, args...)
		}}
	},
	"database-sql": func(t *testing.T, pool *pgxpool.Pool) bank {
		t.Helper()
		db := stdlib.OpenDBFromPool(pool)
		t.Cleanup(func() { _ = db.Close() })
		return bank{sqlstore.New(db), func(ctx context.Context, sql string, args ...any) interface{ Scan(...any) error } {
			return sqlstore.Tx(ctx).QueryRowContext(ctx, sql, args...)
		}}
	},
}

// transfer is a command.
type transfer struct {
	Account string `json:"-"`
	Cents   int    `json:"cents"`
}

type principalKey struct{}

// authenticate stands for the authentication of a service.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), principalKey{}, r.Header.Get("Principal"))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func principalOf(ctx context.Context) string { return ctx.Value(principalKey{}).(string) }

func (b bank) handler() http.Handler {
	once := httpguard.New(httpguard.Config{
		Store: b.store, Scope: func(r *http.Request) guard.Scope { return guard.NewScope(principalOf(r.Context())) },
	})
	mux := http.NewServeMux()
	mux.Handle("POST /wrapped/{account}/transfers", once.Middleware(http.HandlerFunc(b.serveTransfer)))
	mux.Handle("POST /typed/{account}/transfers", httpguard.Handle(once, "transfer", decodeTransfer, b.transfer))
	return authenticate(mux)
}

func decodeTransfer(r *http.Request) (transfer, error) {
	cmd := transfer{Account: r.PathValue("account")}
	err := json.NewDecoder(r.Body).Decode(&cmd)
	if err == nil && cmd.Cents <= 0 {
		err = errors.New("cents must be positive")
	}
	return cmd, err
}

// serveTransfer is a handler as services have it. Its answer has a header that a retry
// would lack.
func (b bank) serveTransfer(w http.ResponseWriter, r *http.Request) {
	cmd, err := decodeTransfer(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	reply, err := b.transfer(r.Context(), cmd)
	if err != nil {
		httpguard.Fail(r, err)
		return
	}
	w.Header().Set("Location", reply.Location)
	w.Header().Set("X-Answered-By", "the first request")
	w.WriteHeader(reply.Status)
	_, _ = fmt.Fprintln(w, reply.Body)
}

// transfer pays once for each key, also when its record has expired.
func (b bank) transfer(ctx context.Context, cmd transfer) (httpguard.Reply, error) {
	var balance, id, cents int
	err := b.row(ctx, "SELECT cents FROM account WHERE name = $1 FOR UPDATE", cmd.Account).Scan(&balance)
	if errors.Is(err, sql.ErrNoRows) || err == nil && balance < cmd.Cents {
		return httpguard.Reply{}, httpguard.Problem{Status: http.StatusPaymentRequired, Code: "insufficient_funds"}
	}
	if err != nil {
		return httpguard.Reply{}, err
	}
	err = b.row(ctx, "SELECT id, cents FROM transfer WHERE account = $1 AND principal = $2 AND key = $3",
		cmd.Account, principalOf(ctx), guard.KeyOf(ctx)).Scan(&id, &cents)
	if err == nil && cents != cmd.Cents {
		return httpguard.Reply{}, guard.ErrKeyReused
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = b.row(ctx, "INSERT INTO transfer (account, principal, cents, key) VALUES ($1, $2, $3, $4) RETURNING id",
			cmd.Account, principalOf(ctx), cmd.Cents, guard.KeyOf(ctx)).Scan(&id)
	}
	return httpguard.Reply{Status: http.StatusCreated, Location: fmt.Sprint("/transfers/", id), Body: map[string]int{"id": id}}, err
}

// TestRoute asks all questions of routetest about both forms, on both drivers and with
// a second process.
func TestRoute(t *testing.T) {
	t.Parallel()
	for driver, open := range banks {
		for form, other := range map[string]string{"wrapped": "typed", "typed": "wrapped"} {
			t.Run(form+" "+driver, func(t *testing.T) {
				t.Parallel()
				routetest.Run(t, func(t *testing.T) routetest.Route { t.Helper(); return newRoute(t, open, form, other) })
			})
		}
	}
}

// newRoute describes a route on an empty database.
func newRoute(t *testing.T, open func(*testing.T, *pgxpool.Pool) bank, form, other string) routetest.Route {
	t.Helper()
	pool := testdb.New(t)
	testdb.Exec(t, pool, sqlstore.Schema("idempotency_record")+`
		CREATE TABLE account (name text PRIMARY KEY, cents bigint NOT NULL);
		CREATE TABLE transfer (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, account text NOT NULL REFERENCES account,
			principal text NOT NULL, cents bigint NOT NULL, key text NOT NULL, UNIQUE (account, principal, key));
		INSERT INTO account VALUES ('ann@x', 5000), ('bob', 5000)`)
	serve := func() string {
		server := httptest.NewServer(open(t, testdb.Open(t, pool.Config())).handler())
		t.Cleanup(server.Close)
		return server.URL
	}
	request := func(form, account, body string) routetest.Request {
		return routetest.Request{Method: http.MethodPost, Path: "/" + form + "/" + account + "/transfers", Body: body}
	}
	return routetest.Route{
		URL: serve(), Replica: serve(),
		Request: request(form, "ann@x", `{"cents": 1000, "note": "rent"}`),
		Others: []routetest.Request{
			request(form, "ann@x", `{"cents": 1001}`), request(form, "bob", `{"cents": 1000, "note": "rent"}`),
			request(other, "ann@x", `{"cents": 1000, "note": "rent"}`),
		},
		Refused:   request(form, "nobody", `{"cents": 1000}`),
		Principal: http.Header{"Principal": {"alice"}}, Peer: http.Header{"Principal": {"eve"}},
		Effects:    pgtest.Count(pool, "transfer"),
		Hold:       pgtest.Hold(pool, "SELECT FROM account FOR UPDATE"),
		Fail:       pgtest.Break(pool, "transfer"),
		FailRecord: pgtest.Break(pool, "idempotency_record"),
		Expire:     pgtest.Expire(pool, "idempotency_record"),
	}
}
