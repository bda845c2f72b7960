package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime/debug"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"

	"example.com/orders/internal/config"
)

const (
	// drainNotice is how long the process answers "not ready" before it stops listening,
	// so that load balancers look elsewhere first.
	drainNotice = time.Second
	// drainTimeout bounds how long accepted requests may take to be answered.
	drainTimeout = 20 * time.Second
)

// serve runs the service until ctx ends.
func serve(ctx context.Context, environ []string, out io.Writer) error {
	cfg, err := config.Read(environ)
	if err != nil {
		return err
	}
	tuneMemory(environ)
	log := newLog(cfg, out)
	ln, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	defer ln.close()
	a, err := newApp(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer a.close()
	log.Info().Str("addr", cfg.Addr).Str("admin_addr", cfg.AdminAddr).Msg("serving")
	return a.run(ctx, ln, drainNotice)
}

// tuneMemory lets the heap grow to five times of what is alive before it is collected.
// What is alive is small (the records and tokens that are remembered), what a request
// leaves behind is large: collecting less often saves a fifth of the processor for some
// hundred megabytes. GOGC has the last word.
func tuneMemory(environ []string) {
	if env.ToMap(environ)["GOGC"] == "" {
		debug.SetGCPercent(400)
	}
}

// listeners are the ports of the process. They are opened before anything else, so
// that a port in use is the first thing that is said.
type listeners struct{ public, admin net.Listener }

func listen(ctx context.Context, cfg config.Config) (listeners, error) {
	public, err := listenOn(ctx, "ORDERS_ADDR", cfg.Addr)
	if err != nil {
		return listeners{}, err
	}
	admin, err := listenOn(ctx, "ORDERS_ADMIN_ADDR", cfg.AdminAddr)
	if err != nil {
		_ = public.Close()
		return listeners{}, err
	}
	return listeners{public, admin}, nil
}

func listenOn(ctx context.Context, variable, addr string) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s (another address goes into %s): %w", addr, variable, err)
	}
	return ln, nil
}

func (l listeners) close() {
	_ = l.public.Close()
	_ = l.admin.Close()
}

// run serves on both listeners and works on jobs until ctx ends, or something fails.
// Then it says "not ready", waits for notice, stops accepting, and lets what was
// accepted be answered.
func (a *app) run(ctx context.Context, ln listeners, notice time.Duration) error {
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
	go func() { failed <- public.Serve(ln.public) }()
	go func() { failed <- admin.Serve(ln.admin) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		a.draining.Store(true)
		time.Sleep(notice)
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, public.Shutdown(stopping), a.jobs.Stop(stopping), admin.Close())
}

// server sets the limits that net/http leaves open: slow and endless requests end. There
// is no limit on the handler's time here; commands bound themselves, and a 503 from
// outside while one commits would be a lie.
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
func (a *app) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", a.metrics.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// The library keeps the form of times for the whole process: RFC 3339, in UTC.
func init() {
	zerolog.TimeFieldFormat = time.RFC3339Nano
	zerolog.TimestampFunc = func() time.Time { return time.Now().UTC() }
}

func newLog(cfg config.Config, out io.Writer) zerolog.Logger {
	if cfg.LogFormat == "console" {
		file, _ := out.(*os.File)
		out = zerolog.ConsoleWriter{Out: out, TimeFormat: time.TimeOnly, NoColor: file == nil || !isatty.IsTerminal(file.Fd())}
	}
	return zerolog.New(out).Level(cfg.LogLevel).With().Timestamp().Logger()
}
