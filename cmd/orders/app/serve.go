package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"example.com/orders/internal/config"
)

// drainTimeout bounds how long accepted requests may take to be answered.
const drainTimeout = 20 * time.Second

// Listeners are the open ports of the process.
type Listeners struct{ Public, Admin net.Listener }

// Listen opens both ports of cfg. A process listens before it does anything else, so
// that a port in use is the first problem that is reported.
func Listen(ctx context.Context, cfg config.Config) (Listeners, error) {
	public, err := listenOn(ctx, "ORDERS_ADDR", cfg.Addr)
	if err != nil {
		return Listeners{}, err
	}
	admin, err := listenOn(ctx, "ORDERS_ADMIN_ADDR", cfg.AdminAddr)
	if err != nil {
		_ = public.Close()
		return Listeners{}, err
	}
	return Listeners{public, admin}, nil
}

func listenOn(ctx context.Context, variable, addr string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (set %s to use another address): %w", addr, variable, err)
	}
	return ln, nil
}

// Close closes both ports. Closing them again, or after [App.Run], does no harm.
func (l Listeners) Close() {
	for _, ln := range []net.Listener{l.Public, l.Admin} {
		if ln != nil {
			_ = ln.Close()
		}
	}
}

// Run serves on both listeners and works on jobs until ctx ends, or something fails.
// Then it reports "not ready" for the duration of event, so that load balancers stop
// sending requests, stops accepting, and waits until every accepted request is answered.
func (a *App) Run(ctx context.Context, ln Listeners, event time.Duration) error {
	if err := a.jobs.Start(ctx); err != nil {
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	wait := a.broker.start(background)
	defer wait()
	defer stop()
	public := server(a.handler)
	admin := server(a.adminHandler())
	failed := make(chan error, 2)
	go func() { failed <- public.Serve(ln.Public) }()
	go func() { failed <- admin.Serve(ln.Admin) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		a.draining.Store(true)
		time.Sleep(event)
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, public.Shutdown(stopping), a.jobs.Stop(stopping), admin.Close())
}

// server sets the limits that net/http leaves open, so that slow and endless requests
// end. The handler's time has no limit here: commands bound themselves, and a 503 from
// outside while a command commits would be a lie.
func server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
}

// adminHandler serves what only operators may see.
func (a *App) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.metrics.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
