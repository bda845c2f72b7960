package main

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard/internal/testdb"
	"example.com/orders/kit/guard/pgtest"
	"example.com/orders/kit/guard/pgxstore"
	"example.com/orders/kit/guard/routetest"
)

func TestServers_PassEveryProbe(t *testing.T) {
	t.Parallel()
	for name, build := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			routetest.Run(t, func(t *testing.T) routetest.Route {
				t.Helper()
				return newRoute(t, newTables(t), build)
			})
		})
	}
}

// A handler that lost a race is called again by every framework, and routed as before.
func TestFrameworks_RunAHandlerAgain(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]framework{
		"mux": serveMux, "chi": onChi, "gorilla": onGorilla, "echo": onEcho, "gin": onGin,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := newTables(t)
			runs, b := 0, onPgx
			b.before = func(r *http.Request) error {
				runs++
				if runs > 2 {
					return nil
				}
				_, err := pgxstore.Tx(r.Context()).Exec(r.Context(), "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '40001'; END $$")
				return err
			}
			handler := build(b, newGuard(pgxstore.New(pool)))
			for i, replayed := range []string{"", "true"} {
				w := send(t, handler, `{"cents": 1000}`)
				if w.Code != http.StatusCreated || w.Header().Get("Idempotent-Replayed") != replayed {
					t.Errorf("request %s: status %d, %v, %s", strconv.Itoa(i), w.Code, w.Header(), w.Body)
				}
			}
			if effects := testdb.Count(t, pool, "SELECT count(*) FROM transfer WHERE key <> ''"); effects != 1 || runs != 3 {
				t.Errorf("%d effects after %d runs, want 1 after 3", effects, runs)
			}
		})
	}
}

func newTables(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := testdb.New(t)
	testdb.Exec(t, pool, schema)
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
