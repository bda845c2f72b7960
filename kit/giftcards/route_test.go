package main

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard/pgtest"
	"example.com/orders/kit/guard/routetest"
)

// service is the running example.
type service struct {
	url  string
	pool *pgxpool.Pool
}

func newService(t *testing.T, open func(*pgxpool.Pool) shop) service {
	t.Helper()
	pool := pgtest.New(t)
	handler, err := newHandler(t.Context(), pool, open(pool))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return service{server.URL, pool}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	for driver, open := range drivers {
		for _, route := range []string{"redemptions", "top-ups"} {
			t.Run(route+" "+driver, func(t *testing.T) {
				t.Parallel()
				routetest.Run(t, func(t *testing.T) routetest.Route {
					t.Helper()
					return newRoute(t, open, route)
				})
			})
		}
	}
}

var drivers = map[string]func(*pgxpool.Pool) shop{"pgx": onPgx, "sql": onSQL}

// newRoute describes a route on an empty database.
func newRoute(t *testing.T, open func(*pgxpool.Pool) shop, route string) routetest.Route {
	t.Helper()
	s := newService(t, open)
	if _, err := s.pool.Exec(t.Context(), "INSERT INTO giftcard VALUES ('WELCOME-51', 5000)"); err != nil {
		t.Fatal(err)
	}
	request := func(code, route, body string) routetest.Request {
		return routetest.Request{Method: http.MethodPost, Path: "/giftcards/" + code + "/" + route, Body: body}
	}
	other := map[string]string{"redemptions": "top-ups", "top-ups": "redemptions"}[route]
	return routetest.Route{
		URL:     s.url,
		Request: request("WELCOME-50", route, `{"amount_cents": 1000}`),
		Others: []routetest.Request{
			request("WELCOME-50", route, `{"amount_cents": 1001}`), request("WELCOME-51", route, `{"amount_cents": 1000}`),
			request("WELCOME-50", other, `{"amount_cents": 1000}`),
		},
		Refused:    request("UNKNOWN", route, `{"amount_cents": 1000}`),
		Principal:  http.Header{"Authorization": {"Bearer alice-token"}},
		Peer:       http.Header{"Authorization": {"Bearer bob-token"}},
		Effects:    pgtest.Count(s.pool, "entry"),
		Hold:       pgtest.Hold(s.pool, "SELECT FROM giftcard FOR UPDATE"),
		Fail:       pgtest.Break(s.pool, "entry"),
		FailRecord: pgtest.Break(s.pool, "idempotency_record"),
		Expire:     pgtest.Expire(s.pool, "idempotency_record"),
	}
}

// A redemption that the card cannot pay changes nothing, and a top-up pays for the next one.
func TestGiftCard_PaysWhatItHolds(t *testing.T) {
	t.Parallel()
	s := newService(t, onPgx)
	for _, step := range []struct {
		path, body string
		status     int
		remaining  int
	}{
		{"redemptions", `{"amount_cents": 5001}`, http.StatusPaymentRequired, 5000},
		{"top-ups", `{"amount_cents": 1}`, http.StatusOK, 5001},
		{"redemptions", `{"amount_cents": 5001}`, http.StatusCreated, 0},
	} {
		if status := s.post(t, step.path, "key of "+step.path+strconv.Itoa(step.remaining), step.body); status != step.status {
			t.Errorf("%s %s: status %d, want %d", step.path, step.body, status, step.status)
		}
		var remaining int
		err := s.pool.QueryRow(t.Context(), "SELECT remaining_cents FROM giftcard").Scan(&remaining)
		if err != nil || remaining != step.remaining {
			t.Errorf("%s %s: %d remain, %v, want %d", step.path, step.body, remaining, err, step.remaining)
		}
	}
}

// post sends a request with a key to a route of the card WELCOME-50, and returns the status.
func (s service) post(t *testing.T, route, key, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/giftcards/WELCOME-50/"+route, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice-token")
	r.Header.Set("Idempotency-Key", strings.ReplaceAll(key, " ", "-"))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}
