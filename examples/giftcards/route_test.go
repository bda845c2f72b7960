package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/internal/idempotency/routetest"
)

// service is the running example.
type service struct {
	url  string
	pool *pgxpool.Pool
}

func newService(t *testing.T) service {
	t.Helper()
	pool := newPool(t)
	handler, err := newHandler(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return service{server.URL, pool}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	routetest.Run(t, func(t *testing.T) routetest.Route {
		t.Helper()
		s := newService(t)
		mustExec(t, s.pool, "INSERT INTO giftcard VALUES ('WELCOME-51', 5000)")
		redemption := func(code, body string) routetest.Request {
			return routetest.Request{Method: http.MethodPost, Path: "/giftcards/" + code + "/redemptions", Body: body}
		}
		return routetest.Route{
			URL:     s.url,
			Request: redemption("WELCOME-50", `{"amount_cents": 1000}`),
			Others: []routetest.Request{
				redemption("WELCOME-50", `{"amount_cents": 1001}`), redemption("WELCOME-51", `{"amount_cents": 1000}`),
			},
			Refused:   redemption("WELCOME-50", `{"amount_cents": 5001}`),
			Principal: http.Header{"Authorization": {"Bearer alice-token"}},
			Peer:      http.Header{"Authorization": {"Bearer bob-token"}},
			Effects: func(t *testing.T) int {
				t.Helper()
				return mustCount(t, s.pool, "SELECT count(*) FROM redemption")
			},
			Hold: func(t *testing.T) routetest.Hold {
				t.Helper()
				return holdRows(t, s.pool, "SELECT FROM giftcard FOR UPDATE")
			},
			Fail: func(t *testing.T) func() {
				t.Helper()
				return breakTable(t, s.pool, "redemption")
			},
			FailRecord: func(t *testing.T) func() {
				t.Helper()
				return breakTable(t, s.pool, "idempotency_record")
			},
			Expire: func(t *testing.T) {
				t.Helper()
				expireRecords(t, s.pool)
			},
		}
	})
}
