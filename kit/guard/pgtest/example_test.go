package pgtest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/orders/kit/guard/pgtest"
	"example.com/orders/kit/guard/routetest"
)

// A transfer is a row of one table, and every transfer locks an account first.
func Example() {
	_ = func(t *testing.T) { // TestRoute
		routetest.Run(t, func(t *testing.T) routetest.Route {
			t.Helper()
			pool := pgtest.New(t)
			server := httptest.NewServer(newService(t, pool))
			t.Cleanup(server.Close)
			return routetest.Route{
				URL:        server.URL,
				Request:    routetest.Request{Method: http.MethodPost, Path: "/transfers", Body: `{"cents": 1000}`},
				Others:     []routetest.Request{{Method: http.MethodPost, Path: "/transfers", Body: `{"cents": 1001}`}},
				Refused:    routetest.Request{Method: http.MethodPost, Path: "/transfers", Body: `{"cents": 999999}`},
				Principal:  http.Header{"Authorization": {"Bearer alice"}},
				Peer:       http.Header{"Authorization": {"Bearer bob"}},
				Effects:    pgtest.Count(pool, "transfer"),
				Hold:       pgtest.Hold(pool, "SELECT FROM account FOR UPDATE"),
				Fail:       pgtest.Break(pool, "transfer"),
				FailRecord: pgtest.Break(pool, "idempotency_record"),
				Expire:     pgtest.Expire(pool, "idempotency_record"),
			}
		})
	}
}

// newService stands for your service, which creates the tables.
func newService(t *testing.T, pool *pgxpool.Pool) http.Handler {
	t.Helper()
	_ = pool
	return http.NotFoundHandler()
}
