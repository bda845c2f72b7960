package httpapi

import (
	"fmt"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// getLiveness reports that the process runs, and its version. It does not touch the
// database: restarting the process does not repair a database.
func (a *api) getLiveness(http.ResponseWriter, *http.Request) (*response, error) {
	return healthy(wire.Liveness{Status: wire.HealthStatusLive, Version: a.Version})
}

// getReadiness reports whether the process can serve requests. With 503 it leaves the
// rotation of a load balancer.
func (a *api) getReadiness(_ http.ResponseWriter, r *http.Request) (*response, error) {
	if err := a.Ready(r.Context()); err != nil {
		return nil, fmt.Errorf("%w: %w", core.ErrUnavailable, err)
	}
	return healthy(wire.Health{Status: wire.HealthStatusReady})
}

func healthy(body any) (*response, error) {
	return (&success{status: http.StatusOK, body: body}).encode()
}
