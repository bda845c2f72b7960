package httpapi

import (
	"fmt"
	"net/http"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// live tells that the process runs. It never touches the database: a database that is
// down is no reason to restart us.
func (a *api) live(w http.ResponseWriter, r *http.Request) {
	a.health(w, r, wire.HealthStatusLive)
}

// ready tells that the process can serve; while it cannot it answers 503, and a load
// balancer looks elsewhere.
func (a *api) ready(w http.ResponseWriter, r *http.Request) {
	if err := a.Ready(r.Context()); err != nil {
		a.refuse(w, r, fmt.Errorf("%w: %w", core.ErrUnavailable, err))
		return
	}
	a.health(w, r, wire.HealthStatusReady)
}

func (a *api) health(w http.ResponseWriter, r *http.Request, status wire.HealthStatus) {
	entryOf(r.Context()).pattern = r.URL.Path
	resp, err := (&success{status: http.StatusOK, body: wire.Health{Status: status}}).encode()
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	resp.write(w)
}
