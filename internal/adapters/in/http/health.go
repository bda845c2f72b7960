package httpapi

import (
	"fmt"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// getLiveness reports that the process runs. It does not touch the database: restarting
// the process does not repair a database.
func (a *api) getLiveness(http.ResponseWriter, *http.Request) (*response, error) {
	return health(wire.HealthStatusLive)
}

// getReadiness reports whether the process can serve requests. With 503 it leaves the
// rotation of a load balancer.
func (a *api) getReadiness(_ http.ResponseWriter, r *http.Request) (*response, error) {
	if err := a.Ready(r.Context()); err != nil {
		return nil, fmt.Errorf("%w: %w", core.ErrUnavailable, err)
	}
	return health(wire.HealthStatusReady)
}

func health(status wire.HealthStatus) (*response, error) {
	return (&success{status: http.StatusOK, body: wire.Health{Status: status}}).encode()
}
