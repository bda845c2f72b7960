package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/core"
)

// getLiveness reports that the process runs, and the version. It does not touch the
// database: restarting the process does not repair a database.
func (a *api) getLiveness(http.ResponseWriter, *http.Request) (*response, error) {
	return healthy(wire.Liveness{Status: wire.HealthStatusLive, Version: a.Version})
}

// getReadiness reports whether the process can serve requests. A 503 takes it out of
// the load balancer rotation. Only operators see the cause.
func (a *api) getReadiness(_ http.ResponseWriter, r *http.Request) (*response, error) {
	err := a.Ready(r.Context())
	switch {
	case err == nil:
		return healthy(wire.Health{Status: wire.HealthStatusReady})
	case r.Context().Value(operatorKey{}) != nil:
		return nil, problem.New(wire.ProblemCodeUnavailable, err.Error())
	}
	return nil, fmt.Errorf("%w: %w", core.ErrUnavailable, err)
}

// operatorKey marks a request's context on the admin listener.
type operatorKey struct{}

// ForOperators serves health to those who may see why the process is not ready.
func ForOperators(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), operatorKey{}, true)))
	})
}

func healthy(body any) (*response, error) {
	return (&success{status: http.StatusOK, body: body}).encode()
}
