package routetest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"example.com/orders/kit/guard/routetest"
)

// A route is described by requests and by how to count effects. Each hook that is missing
// skips the questions that need it.
func ExampleRun() {
	_ = func(t *testing.T) { // TestRoute
		routetest.Run(t, func(t *testing.T) routetest.Route {
			t.Helper()
			server := httptest.NewServer(newService(t)) // on an empty database
			t.Cleanup(server.Close)
			return routetest.Route{
				URL:       server.URL,
				Request:   routetest.Request{Method: http.MethodPost, Path: "/transfers", Body: `{"cents": 1000}`},
				Others:    []routetest.Request{{Method: http.MethodPost, Path: "/transfers", Body: `{"cents": 1001}`}},
				Refused:   routetest.Request{Method: http.MethodPost, Path: "/transfers", Body: `{"cents": 999999}`},
				Principal: http.Header{"Authorization": {"Bearer alice"}},
				Peer:      http.Header{"Authorization": {"Bearer bob"}},
				Effects:   func(t *testing.T) int { t.Helper(); return countTransfers(t) },
			}
		})
	}
}

func newService(t *testing.T) http.Handler { t.Helper(); return http.NotFoundHandler() }

func countTransfers(t *testing.T) int { t.Helper(); return 0 }
